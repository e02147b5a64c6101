import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

import type { Logger } from "../../src/lib/logger.ts";
import type { TlsPair } from "../../src/lib/tls.ts";
import { answerClientError, answerConnect } from "./client-error.ts";
import { maxHeadersRead } from "./guard.ts";
import { apiHeaders } from "./headers.ts";

/** A listening HTTP server. */
export interface HttpServer {
  /** `http://host:port`, or `https://…` over TLS, with the port that was really taken. */
  readonly url: string;
  /** Takes another certificate for the connections to come; only over TLS. */
  renewTls(pair: TlsPair): void;
  /** Takes no new requests, answers those under way, and resolves when all are answered. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Connections beyond these are closed as soon as they are made. */
  readonly maxConnections: number;
  /** Undefined for plain HTTP. */
  readonly tls: TlsPair | undefined;
  readonly log: Logger;
  readonly limits?: Partial<Readonly<Record<keyof typeof connectionLimits, number>>>;
}

/** What one connection may take: bytes, and milliseconds. */
export const connectionLimits = {
  /** A request's line and headers together; a token of an OpenID provider can have some kilobytes. */
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  /** The whole request, its body included. */
  requestTimeout: 30_000,
  /** Of TLS. */
  handshakeTimeout: 10_000,
  /** How often headers and requests are looked after. */
  connectionsCheckingInterval: 1_000,
  /** Until the next request. */
  keepAliveTimeout: 60_000,
  /** Nothing comes or goes: whoever does not take their answers. */
  idleTimeout: 120_000,
  /** Then the client connects anew, to another instance perhaps. */
  requestsPerConnection: 10_000,
};

/** Requests under way get this long to be answered when the server closes. */
const drainMs = 10_000;

/** Listens. Throws when the address cannot be had, saying which. */
export async function listen(app: RequestListener, options: ListenOptions): Promise<HttpServer> {
  const { host, port, maxConnections, tls, log } = options;
  const { requestsPerConnection, idleTimeout, handshakeTimeout, ...timeouts } = {
    ...connectionLimits,
    ...options.limits,
  };
  // Without a Host header the answer is ours: Node's own has no body.
  const handle = upTo(requestsPerConnection, app);
  const settings = { ...timeouts, requireHostHeader: false };
  const secure =
    tls === undefined
      ? undefined
      : createSecureServer({ ...settings, handshakeTimeout, cert: tls.cert, key: tls.key }, handle);
  const server = secure ?? createServer(settings, handle);
  server.maxConnections = maxConnections;
  server.maxHeadersCount = maxHeadersRead;
  server.timeout = idleTimeout;
  // Whether the body is wanted, and whether the expectation is known, is decided where everything is.
  server.on("checkContinue", handle).on("checkExpectation", handle);
  const headers = apiHeaders({ overTls: secure !== undefined });
  server.on("clientError", answerClientError(headers)).on("connect", answerConnect(headers));
  warnOfDrops(server, log);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, resolve);
  });
  const address = server.address() as AddressInfo;
  const shown = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return {
    url: `${secure === undefined ? "http" : "https"}://${shown}:${address.port}`,
    renewTls: ({ cert, key }) => secure?.setSecureContext({ cert, key }),
    close: () => drain(server),
  };
}

/**
 * Closes a connection with the answer to so many requests. Not Node's `maxRequestsPerSocket`: that says so, but keeps the
 * connection, and answers what else comes with 503 without a body.
 */
function upTo(most: number, app: RequestListener): RequestListener {
  const counts = new WeakMap<Socket, { requests: number }>();
  return (request, response) => {
    const count = counts.get(request.socket) ?? { requests: 0 };
    if (count.requests === 0) counts.set(request.socket, count);
    count.requests += 1;
    if (count.requests >= most) response.shouldKeepAlive = false;
    app(request, response);
  };
}

/** Says it once a minute at most: there may be very many. */
function warnOfDrops(server: Server | SecureServer, log: Logger): void {
  let dropped = 0;
  let saidAt = -Infinity;
  server.on("drop", () => {
    dropped += 1;
    if (performance.now() - saidAt < 60_000) return;
    saidAt = performance.now();
    log.warn({ dropped, maxConnections: server.maxConnections }, "too many connections; new ones are closed");
    dropped = 0;
  });
}

function drain(server: Server | SecureServer): Promise<void> {
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
