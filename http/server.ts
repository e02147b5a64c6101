import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import type { Express } from "express";

/** A listening HTTP server. */
export interface HttpServer {
  /** `http://host:port`, with the port that was really taken. */
  readonly url: string;
  /** Takes no new requests, answers those under way, and resolves when all are answered. */
  close(): Promise<void>;
}

/** Requests under way get this long to be answered when the server closes. */
const drainMs = 10_000;

/** Listens. Throws when the address cannot be had, saying which. */
export async function listen(
  app: Express,
  { host, port }: { host: string; port: number },
): Promise<HttpServer> {
  const server = createServer(
    { requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 60_000 },
    app,
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, resolve);
  });
  const address = server.address() as AddressInfo;
  const shown = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return { url: `http://${shown}:${address.port}`, close: () => drain(server) };
}

function drain(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => {
      server.closeAllConnections();
    }, drainMs);
    // A kept-alive connection becomes idle only after its last answer.
    const idle = setInterval(() => {
      server.closeIdleConnections();
    }, 50);
    server.close(() => {
      clearTimeout(late);
      clearInterval(idle);
      resolve();
    });
  });
}
