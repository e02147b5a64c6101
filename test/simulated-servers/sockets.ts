/** Simulated connections, as TCP has them: bytes arrive in order and in pieces, or the connection breaks. */
import type { Socket } from "node:net";

import type { ISocketFactoryArgs } from "kafkajs";

import type { Sockets } from "@topicsync/kafka/internals";
import type { Clock, Host } from "./clock.ts";
import type { Random } from "./random.ts";
import { SimulatedSocket, type Link, type Server, type SocketFault, type Wire } from "./simulated-socket.ts";
import type { MessageName } from "./wire/messages.ts";

/** The connections between processes and brokers. */
export class SocketNetwork {
  readonly #clock: Clock;
  readonly #servers = new Map<string, Server>();
  readonly #links = new Map<Host, Map<Server, Link>>();
  readonly #open = new Set<SimulatedSocket>();
  /** The connections of each client of a process. */
  readonly #clients = new Map<Host, readonly ReadonlySet<SimulatedSocket>[]>();
  #disturbed = 0;
  readonly #wire: Wire;

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = clock;
    this.#wire = {
      clock: this.#clock,
      random,
      splits: random.chance(0.5),
      onDisturbed: () => void (this.#disturbed += 1),
      onClosed: (socket) => this.#open.delete(socket),
    };
  }

  listen(address: string, server: Server): void {
    this.#servers.set(address, server);
  }

  /** The connections of a process, as packages/kafka/sockets.ts makes them. */
  createSockets(): Sockets {
    const all = new Set<SimulatedSocket>();
    let isClosed = false;
    return {
      createClientSockets: () => {
        const own = new Set<SimulatedSocket>();
        this.#clients.set(this.#clock.getHost(), [...(this.#clients.get(this.#clock.getHost()) ?? []), own]);
        let isOwnClosed = false;
        return {
          open: (args) => {
            if (isClosed || isOwnClosed) throw new Error("the Kafka client is closed");
            const socket = this.#connect(args);
            all.add(socket);
            own.add(socket);
            socket.once("close", () => {
              all.delete(socket);
              own.delete(socket);
            });
            return socket as unknown as Socket;
          },
          drop(broker) {
            for (const socket of own)
              if (socket.address === broker) socket.destroy(new Error("request timed out"));
          },
          close() {
            isOwnClosed = true;
            for (const socket of own) socket.destroy(new Error("closed"));
          },
        };
      },
      close() {
        isClosed = true;
        for (const socket of all) socket.destroy(new Error("closed"));
      },
      get isClosed() {
        return isClosed;
      },
    };
  }

  /** Disturbs the next request from a host to a server, or the next of a kind. */
  disturb(client: Host, server: Server, fault: SocketFault, request?: MessageName): void {
    this.#getLink(client, server).faults.push({ fault, request });
  }

  /** Nothing passes between a host and a server for some time. */
  cut(client: Host, server: Server, ms: number): void {
    this.#disturbed += 1;
    this.#getLink(client, server).cutUntil = this.#clock.getTime() + ms;
  }

  /** Breaks every connection to a server. */
  resetAll(server: Server): void {
    for (const socket of this.#open) if (socket.server === server) socket.breakOff();
  }

  /** Servers notice that a machine is gone. */
  forget(client: Host): void {
    for (const socket of this.#open)
      if (socket.client === client) {
        this.#open.delete(socket);
        socket.forget();
      }
  }

  /** Ends what was done with `disturb` and `cut`. */
  heal(): void {
    for (const ofClient of this.#links.values())
      for (const link of ofClient.values()) {
        link.faults.length = 0;
        link.cutUntil = 0;
      }
  }

  countDisturbed(): number {
    return this.#disturbed;
  }

  /** How many clients of a process are connected. */
  countClients(client: Host): number {
    return (this.#clients.get(client) ?? []).filter((own) => own.size > 0).length;
  }

  #getLink(client: Host, server: Server): Link {
    const ofClient = this.#links.get(client) ?? new Map<Server, Link>();
    this.#links.set(client, ofClient);
    const link = ofClient.get(server) ?? { faults: [], cutUntil: 0 };
    ofClient.set(server, link);
    return link;
  }

  #connect({ host, port, onConnect }: ISocketFactoryArgs): SimulatedSocket {
    const address = `${host}:${port}`;
    const server = this.#servers.get(address);
    if (server === undefined) throw new Error(`nothing listens at ${address}`);
    const client = this.#clock.getHost();
    const socket = new SimulatedSocket(this.#wire, this.#getLink(client, server), {
      client,
      server,
      address,
    });
    this.#open.add(socket);
    socket.once("connect", onConnect);
    return socket;
  }
}
