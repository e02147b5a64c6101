/** Simulated connections, as TCP has them: bytes arrive in order and in pieces, or the connection breaks. */
import type { Socket } from "node:net";

import type { ISocketFactoryArgs } from "kafkajs";

import type { Sockets } from "../../src/kafka/sockets.ts";
import type { Clock, Host } from "./clock.ts";
import type { Random } from "./random.ts";
import { SimulatedSocket, type Link, type Server, type SocketFault, type Wire } from "./simulated-socket.ts";
import type { MessageName } from "./wire/messages.ts";

export function createSocketNetwork({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
  const servers = new Map<string, Server>();
  const links = new Map<Host, Map<Server, Link>>();
  const open = new Set<SimulatedSocket>();
  /** The connections of each client of a process. */
  const clients = new Map<Host, readonly ReadonlySet<SimulatedSocket>[]>();
  let disturbed = 0;
  const wire: Wire = {
    clock,
    random,
    splits: random.chance(0.5),
    onDisturbed: () => void (disturbed += 1),
    onClosed: (socket) => open.delete(socket),
  };

  function getLink(client: Host, server: Server): Link {
    const ofClient = links.get(client) ?? new Map<Server, Link>();
    links.set(client, ofClient);
    const link = ofClient.get(server) ?? { faults: [], cutUntil: 0 };
    ofClient.set(server, link);
    return link;
  }

  function connect({ host, port, onConnect }: ISocketFactoryArgs): SimulatedSocket {
    const address = `${host}:${port}`;
    const server = servers.get(address);
    if (server === undefined) throw new Error(`nothing listens at ${address}`);
    const client = clock.getHost();
    const socket = new SimulatedSocket(wire, getLink(client, server), { client, server, address });
    open.add(socket);
    socket.once("connect", onConnect);
    return socket;
  }

  return {
    listen(address: string, server: Server): void {
      servers.set(address, server);
    },

    /** The connections of a process, as src/kafka/sockets.ts makes them. */
    createSockets(): Sockets {
      const all = new Set<SimulatedSocket>();
      let isClosed = false;
      return {
        createClientSockets() {
          const own = new Set<SimulatedSocket>();
          clients.set(clock.getHost(), [...(clients.get(clock.getHost()) ?? []), own]);
          let isOwnClosed = false;
          return {
            open(args) {
              if (isClosed || isOwnClosed) throw new Error("the Kafka client is closed");
              const socket = connect(args);
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
    },

    /** Disturbs the next request from a host to a server, or the next of a kind. */
    disturb(client: Host, server: Server, fault: SocketFault, request?: MessageName): void {
      getLink(client, server).faults.push({ fault, request });
    },
    /** Nothing passes between a host and a server for some time. */
    cut(client: Host, server: Server, ms: number): void {
      disturbed += 1;
      getLink(client, server).cutUntil = clock.getTime() + ms;
    },
    /** Breaks every connection to a server. */
    resetAll(server: Server): void {
      for (const socket of open) if (socket.server === server) socket.breakOff();
    },
    /** Servers notice that a machine is gone. */
    forget(client: Host): void {
      for (const socket of open)
        if (socket.client === client) {
          open.delete(socket);
          socket.forget();
        }
    },
    /** Ends what was done with `disturb` and `cut`. */
    heal(): void {
      for (const ofClient of links.values())
        for (const link of ofClient.values()) {
          link.faults.length = 0;
          link.cutUntil = 0;
        }
    },
    countDisturbed: (): number => disturbed,
    /** How many clients of a process are connected. */
    countClients: (client: Host): number => (clients.get(client) ?? []).filter((own) => own.size > 0).length,
  };
}

export type SocketNetwork = ReturnType<typeof createSocketNetwork>;
