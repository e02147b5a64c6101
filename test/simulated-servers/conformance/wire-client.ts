/** A client that sends single requests to a chosen broker, over real or simulated connections. */
import type { Socket } from "node:net";

import type { ISocketFactory } from "kafkajs";

import { createFrameSplitter, readResponse, writeRequest } from "../wire/frames.ts";
import type { MessageName, Request, Response } from "../wire/messages.ts";

interface Waiting {
  readonly resolve: (frame: Buffer) => void;
  readonly reject: (error: Error) => void;
}

interface Connection {
  readonly socket: Socket;
  /** Answered in order. */
  readonly waiting: Waiting[];
}

export interface WireClient {
  /** Sends a request to a broker (`host:port`). Rejects when the connection breaks. */
  readonly ask: <Name extends MessageName>(
    address: string,
    name: Name,
    body: Request<Name>,
  ) => Promise<Response<Name>>;
  readonly close: () => void;
}

export function createWireClient(open: ISocketFactory): WireClient {
  const connections = new Map<string, Promise<Connection>>();
  let correlationId = 0;

  function connect(address: string): Promise<Connection> {
    const [host = "", port = ""] = address.split(":");
    const waiting: Waiting[] = [];
    const split = createFrameSplitter();
    return new Promise((resolve, reject) => {
      const connection = {
        host,
        port: Number(port),
        ssl: undefined as never,
        onConnect: () => {
          resolve({ socket, waiting });
        },
      };
      const socket = open(connection);
      socket.on("data", (bytes: Buffer) => {
        for (const frame of split(bytes)) waiting.shift()?.resolve(frame);
      });
      // "close" follows.
      socket.on("error", reject);
      socket.on("close", () => {
        connections.delete(address);
        for (const one of waiting) one.reject(new Error(`the connection to ${address} broke`));
      });
    });
  }

  return {
    async ask(address, name, body) {
      const connecting = connections.get(address) ?? connect(address);
      connections.set(address, connecting);
      const { socket, waiting } = await connecting;
      const frame = await new Promise<Buffer>((resolve, reject) => {
        waiting.push({ resolve, reject });
        socket.write(writeRequest(name, (correlationId += 1), body));
      });
      return readResponse(name, frame);
    },
    close() {
      for (const connecting of connections.values())
        connecting.then(
          ({ socket }) => socket.destroy(),
          () => undefined,
        );
    },
  };
}
