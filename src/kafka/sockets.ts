import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { ISocketFactory, ISocketFactoryArgs, Kafka, RequestTimeoutEvent } from "kafkajs";

const keepAliveMs = 60_000;

/** kafkajs with connections of its own, for one admin, consumer or producer. */
export interface KafkaClient {
  readonly kafka: Kafka;
  /** Listens to `REQUEST_TIMEOUT`: the connection to that broker is given up. */
  readonly giveUp: (event: RequestTimeoutEvent) => void;
}

/** The connections of one client of kafkajs. */
export interface ClientSockets {
  readonly open: ISocketFactory;
  /** Ends the connections to a broker (`host:port`); kafkajs makes new ones when it needs them. */
  giveUp(broker: string): void;
}

/** The connections of all clients. */
export interface Sockets {
  ofClient(): ClientSockets;
  /** Ends all connections, and refuses new ones: what kafkajs still tries keeps no process from its end. */
  close(): void;
  readonly isClosed: boolean;
}

/**
 * Makes connections that can be given up. kafkajs goes on using one that does not answer, for the quarter of an hour that
 * TCP takes to notice that nobody is at its other end, and on trying to connect after it was told to disconnect.
 */
export function createSockets(): Sockets {
  const all = new Map<Socket, string>();
  let isClosed = false;

  function open({ host, port, ssl, onConnect }: ISocketFactoryArgs): Socket {
    if (isClosed) throw new Error("the connections to Kafka are closed");
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket: Socket =
      (ssl as unknown) === undefined || (ssl as unknown) === null
        ? connectPlain({ host, port }, onConnect)
        : connectTls({ host, port, ...name, ...ssl }, onConnect);
    all.set(socket, `${host}:${port}`);
    socket.once("close", () => all.delete(socket));
    return socket.setKeepAlive(true, keepAliveMs);
  }

  return {
    ofClient() {
      const own = new WeakSet<Socket>();
      return {
        open(to) {
          const socket = open(to);
          own.add(socket);
          return socket;
        },
        giveUp(broker) {
          for (const [socket, to] of all)
            if (own.has(socket) && to === broker)
              socket.destroy(new Error("a request was not answered in time"));
        },
      };
    },
    close() {
      isClosed = true;
      for (const socket of all.keys()) socket.destroy(new Error("closed"));
    },
    get isClosed() {
      return isClosed;
    },
  };
}
