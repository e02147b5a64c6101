import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { TestContext } from "node:test";

import type { ISocketFactoryArgs } from "kafkajs";

import { loadPrivate } from "@topicsync/kafka/internals";

/** A connection of kafkajs 2.2.4. */
export interface Connection {
  readonly bytesBuffered: number;
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
  rejectRequests(error: Error): void;
  send(protocol: object): Promise<unknown>;
}

const silent = {
  namespace: () => silent,
  debug: () => undefined,
  error: () => undefined,
  warn: () => undefined,
};

/**
 * Creates a connection of kafkajs to a server that sends only what the test sends. `open` connects, and
 * returns the server's socket.
 */
export async function createConnection(
  test: TestContext,
): Promise<{ readonly connection: Connection; readonly open: () => Promise<Socket> }> {
  const accepted = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    // The client may reset it.
    accepted.add(socket.on("error", () => undefined));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const ConnectionClass = loadPrivate("network/connection.js") as new (options: object) => Connection;
  const connection = new ConnectionClass({
    host: "127.0.0.1",
    port: (server.address() as AddressInfo).port,
    logger: silent,
    socketFactory: ({ host, port, onConnect }: ISocketFactoryArgs) => connect({ host, port }, onConnect),
    requestTimeout: 60_000,
    connectionTimeout: 60_000,
  });
  test.after(async () => {
    connection.rejectRequests(new Error("the test has ended"));
    await connection.disconnect();
    for (const socket of accepted) socket.destroy();
    server.close();
  });
  return {
    connection,
    async open() {
      const next = once(server, "connection") as Promise<[Socket]>;
      await connection.connect();
      return (await next)[0];
    },
  };
}

interface Decoder {
  readInt32(): number;
  readBytes(): Buffer;
}

export interface Received {
  readonly number: number;
  readonly bytes: Buffer;
}

/** Sends a request, and reads a number and bytes from its response. */
export function send(connection: Connection): Promise<Received> {
  const Encoder = loadPrivate("protocol/encoder") as new () => { readonly buffer: Buffer };
  const DecoderClass = loadPrivate("protocol/decoder") as new (bytes: Buffer) => Decoder;
  const protocol = {
    request: {
      apiKey: 18,
      apiName: "ApiVersions",
      apiVersion: 0,
      encode: () => Promise.resolve(new Encoder()),
    },
    response: {
      decode(payload: Buffer) {
        const decoder = new DecoderClass(payload);
        return Promise.resolve({ number: decoder.readInt32(), bytes: decoder.readBytes() });
      },
      parse: (decoded: object) => Promise.resolve(decoded),
    },
  };
  return connection.send(protocol) as Promise<Received>;
}

/** Creates the response to a request of `send`; these are numbered from 0. */
export function createResponse(request: number, number: number): Buffer {
  const response = Buffer.from("ssssrrrrnnnnllllbytes");
  for (const [index, value] of [response.length - 4, request, number, 5].entries())
    response.writeInt32BE(value, 4 * index);
  return response;
}
