import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { ISocketFactory, Kafka, RequestTimeoutEvent } from "kafkajs";

const keepAliveMs = 60_000;

/** kafkajs with connections of its own, for one admin, consumer or producer. */
export interface KafkaClient {
  readonly kafka: Kafka;
  /** Listens to `REQUEST_TIMEOUT`: the connection to that broker is given up. */
  readonly giveUp: (event: RequestTimeoutEvent) => void;
}

/** The connections of one client of kafkajs. */
export interface Sockets {
  readonly open: ISocketFactory;
  /** Ends the connections to a broker (`host:port`); kafkajs makes new ones when it needs them. */
  giveUp(broker: string): void;
}

/**
 * Makes connections that can be given up. kafkajs goes on using one that does not answer, for the quarter of an hour that
 * TCP takes to notice that nobody is at its other end.
 */
export function createSockets(): Sockets {
  const known = new Map<Socket, string>();

  return {
    open({ host, port, ssl, onConnect }) {
      const name = isIP(host) === 0 ? { servername: host } : {};
      const socket: Socket =
        (ssl as unknown) === undefined || (ssl as unknown) === null
          ? connectPlain({ host, port }, onConnect)
          : connectTls({ host, port, ...name, ...ssl }, onConnect);
      known.set(socket, `${host}:${port}`);
      socket.once("close", () => known.delete(socket));
      return socket.setKeepAlive(true, keepAliveMs);
    },
    giveUp(broker) {
      for (const [socket, to] of known)
        if (to === broker) socket.destroy(new Error("a request was not answered in time"));
    },
  };
}
