import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";

import type { ISocketFactory, ISocketFactoryArgs, Kafka, RequestTimeoutEvent } from "kafkajs";

const keepAliveMs = 60_000;

/** A kafkajs client with its own connections, for one admin, consumer or producer. */
export interface KafkaClient {
  readonly kafka: Kafka;
  /** Listener for `REQUEST_TIMEOUT`: drops the connection to that broker. */
  readonly dropConnection: (event: RequestTimeoutEvent) => void;
  /** Closes its connections, and rejects new ones. */
  readonly close: () => void;
}

/** The connections of one client. */
interface ClientSockets {
  readonly open: ISocketFactory;
  /** Drops the connections to a broker (`host:port`); kafkajs reconnects when needed. */
  drop(broker: string): void;
  /** Closes the connections, and rejects new ones. */
  close(): void;
}

/** The connections of all clients. */
export interface Sockets {
  createClientSockets(): ClientSockets;
  /**
   * Closes all connections and rejects new ones, so that retries of kafkajs cannot keep the process alive.
   */
  close(): void;
  readonly isClosed: boolean;
}

/** Connections with a client certificate that may be replaced. */
export interface FollowedSockets extends Sockets {
  /** Whether a connection is open whose certificate was replaced since. */
  hasReplaced(): boolean;
  /** Closes these connections; kafkajs reconnects when needed. */
  closeReplaced(): void;
}

interface Opened {
  /** `host:port` */
  readonly address: string;
  readonly cert: ConnectionOptions["cert"];
}

/**
 * Creates connections that can be dropped. kafkajs keeps using an unresponsive connection until TCP gives up
 * after some 15 minutes, and keeps reconnecting after it was disconnected. `getTls` is asked for each
 * connection; without it, they are plain.
 */
export function createSockets(getTls?: () => ConnectionOptions): FollowedSockets {
  const all = new Map<Socket, Opened>();
  let isClosed = false;

  function open({ host, port, onConnect }: ISocketFactoryArgs): Socket {
    const name = isIP(host) === 0 ? { servername: host } : {};
    const tls = getTls?.();
    const socket: Socket =
      tls === undefined
        ? connectPlain({ host, port }, onConnect)
        : connectTls({ host, port, ...name, ...tls }, onConnect);
    all.set(socket, { address: `${host}:${port}`, cert: tls?.cert });
    socket.once("close", () => all.delete(socket));
    return socket.setKeepAlive(true, keepAliveMs);
  }

  function findReplaced(): Socket[] {
    const current = getTls?.().cert;
    return [...all].filter(([, { cert }]) => cert !== current).map(([socket]) => socket);
  }

  return {
    hasReplaced: () => findReplaced().length > 0,
    closeReplaced() {
      for (const socket of findReplaced()) socket.destroy(new Error("certificate replaced"));
    },
    createClientSockets() {
      const own = new WeakSet<Socket>();
      let isOwnClosed = false;
      return {
        open(args) {
          if (isClosed || isOwnClosed) throw new Error("the Kafka client is closed");
          const socket = open(args);
          own.add(socket);
          return socket;
        },
        drop(broker) {
          for (const [socket, { address }] of all)
            if (own.has(socket) && address === broker) socket.destroy(new Error("request timed out"));
        },
        close() {
          isOwnClosed = true;
          for (const socket of all.keys()) if (own.has(socket)) socket.destroy(new Error("closed"));
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
