import { randomUUID } from "node:crypto";
import type { Express } from "express";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

import type { Logger } from "@topicsync/lib/logger";
import { oncePerMinute } from "@topicsync/lib/concurrency/once-per-minute";
import type { TlsPair } from "@topicsync/lib/tls";
import { toErrorBody } from "../../src/operations/framework/error-description.ts";
import { HttpError, statuses, type ErrorCode } from "../../src/operations/framework/errors.ts";
import { responseHeaders } from "./headers.ts";
import { maxHeadersRead, toOriginForm } from "./message.ts";

/**
 * An import of node:http also loads node's fetch and WebSocket: 13 MB of memory that the service does not
 * need.
 */
const http = process.getBuiltinModule("node:http");

export interface HttpServer {
  /** `http://host:port` or `https://host:port`, with the actual port. */
  readonly url: string;
  /** Uses another certificate for new connections; only over TLS. */
  renewTls(pair: TlsPair): void;
  /** Stops accepting requests and resolves when those in flight are completed. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Connections beyond these are closed immediately. */
  readonly maxConnections: number;
  /** Undefined for plain HTTP. */
  readonly tls: TlsPair | undefined;
  readonly log: Logger;
  /** Called with each request that is rejected before the application sees it. */
  readonly onRejected?: (code: ErrorCode) => void;
  readonly limits?: Partial<Readonly<Record<keyof typeof connectionLimits, number>>>;
}

/** Limits of a connection, under the names of Node's options; times in milliseconds. */
export const connectionLimits = {
  /** Bytes of the request line and all headers. Tokens of an OpenID provider can have several kilobytes. */
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  /** The whole request including its body. */
  requestTimeout: 30_000,
  /** The TLS handshake. */
  handshakeTimeout: 10_000,
  /** How often the two timeouts above are checked. */
  connectionsCheckingInterval: 1_000,
  /** Between requests. */
  keepAliveTimeout: 60_000,
  /** No data in either direction; also ends clients that never read. */
  idleTimeout: 120_000,
  /** Makes clients reconnect, perhaps to another instance. */
  requestsPerConnection: 10_000,
};

/** How long requests in flight may take when the server closes. */
const drainTimeoutMs = 10_000;
/** How long the sender of a malformed request may take to read the response. */
const lingerMs = 500;

/** Starts listening. Throws if the address is not available. */
export async function listen(app: Express, options: ListenOptions): Promise<HttpServer> {
  const { host, port, maxConnections, tls, log } = options;
  const { requestsPerConnection, idleTimeout, handshakeTimeout, ...timeouts } = {
    ...connectionLimits,
    ...options.limits,
  };
  const connections = createConnections(requestsPerConnection, options.onRejected);
  const handle: RequestListener = (request, response) => {
    connections.add(request, response);
    request.url = toOriginForm(request.url ?? "");
    app(request, response);
  };
  // Node's own response to a missing Host header has no body.
  const settings = { ...timeouts, ...createMessageTypes(app), requireHostHeader: false };
  const secure =
    tls === undefined
      ? undefined
      : createSecureServer({ ...settings, handshakeTimeout, cert: tls.cert, key: tls.key }, handle);
  const server = secure ?? http.createServer(settings, handle);
  server.maxConnections = maxConnections;
  server.maxHeadersCount = maxHeadersRead;
  server.timeout = idleTimeout;
  // The application decides whether to read the body.
  server.on("checkContinue", handle).on("checkExpectation", handle);
  server.on("clientError", connections.rejectInvalid).on("connect", connections.rejectConnect);
  logDrops(server, log);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    // Without a host, Node listens on `::`, or on 0.0.0.0 if the machine has no IPv6.
    server.listen(host === "::" ? { port } : { host, port }, resolve);
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
 * Classes whose objects have the prototypes of the application from the start. Express sets them for each
 * request, which changes nothing then; otherwise it costs more than all of its other code.
 */
function createMessageTypes(app: Express) {
  class Request extends http.IncomingMessage {}
  class Response extends http.ServerResponse<Request> {}
  app.request = Object.setPrototypeOf(Request.prototype, app.request) as typeof app.request;
  app.response = Object.setPrototypeOf(Response.prototype, app.response) as typeof app.response;
  return { IncomingMessage: Request, ServerResponse: Response };
}

interface Connection {
  requests: number;
  /** Responses that are not finished, oldest first: with pipelining there are several. */
  readonly pending: Set<ServerResponse>;
  /** Whether the final error response is sent or about to be. */
  ending: boolean;
}

/** Keeps count of the requests of each connection, and responds to what Node's parser rejects. */
function createConnections(maxRequests: number, onRejected: ListenOptions["onRejected"]) {
  const connections = new WeakMap<Duplex, Connection>();

  function get(socket: Duplex): Connection {
    const known = connections.get(socket);
    if (known !== undefined) return known;
    const connection = { requests: 0, pending: new Set<ServerResponse>(), ending: false };
    connections.set(socket, connection);
    return connection;
  }

  /**
   * Requests that were complete before the error, on the same connection, are completed first. The response
   * to the request in which it occurred is replaced, unless it is already written and only waits for the rest
   * of the body.
   */
  function reject(socket: Duplex, error: HttpError): void {
    const [response] = get(socket).pending;
    if (response?.req.complete === true) {
      response.once("close", () => {
        if (socket.writable) reject(socket, error);
      });
    } else if (response?.headersSent === true) response.end();
    else {
      onRejected?.(error.code);
      socket.end(formatErrorResponse(error));
      setTimeout(() => socket.destroy(), lingerMs).unref();
    }
  }

  return {
    /**
     * Closes the connection with the response to its last allowed request. Node's `maxRequestsPerSocket`
     * announces it but keeps the connection and responds to further requests with 503 and no body.
     */
    add({ socket }: IncomingMessage, response: ServerResponse): void {
      const connection = get(socket);
      const { pending } = connection;
      pending.add(response);
      response.once("close", () => pending.delete(response));
      connection.requests += 1;
      if (connection.requests >= maxRequests) response.setHeader("Connection", "close");
    },
    /** Responds to what Node's parser rejects before there is a request: malformed, too large or too slow. */
    rejectInvalid: (error: Error & { readonly code?: string }, socket: Duplex): void => {
      const { code = "" } = error;
      const connection = get(socket);
      // Every further byte is an error of its own.
      if (connection.ending) return;
      connection.ending = true;
      // Closed by the client, or a failed TLS handshake.
      if (!socket.writable || /^(?:ECONNRESET|EPIPE|ERR_SSL.*|ERR_TLS.*)$/.test(code)) socket.destroy();
      else reject(socket, toHttpError(code));
    },
    /** Node would close the connection without a response. */
    rejectConnect: (_request: IncomingMessage, socket: Duplex): void => {
      socket.on("error", () => socket.destroy());
      reject(socket, new HttpError("BAD_REQUEST", "CONNECT is not supported."));
    },
  };
}

function toHttpError(code: string): HttpError {
  if (code === "HPE_HEADER_OVERFLOW")
    return new HttpError("HEADERS_TOO_LARGE", "The request's headers are too large.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new HttpError("REQUEST_TIMEOUT", "The request was not received in time.");
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW")
    return new HttpError("BODY_TOO_LARGE", "The body's chunk extensions are too large.");
  return new HttpError("BAD_REQUEST", "The request is not valid HTTP.");
}

function formatErrorResponse(error: HttpError): string {
  const body = JSON.stringify(toErrorBody(error));
  const status = statuses[error.code];
  const headers = Object.entries({
    ...responseHeaders,
    "X-Request-Id": randomUUID(),
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(body)),
    Connection: "close",
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ""}\r\n${headers.join("")}\r\n${body}`;
}

function logDrops(server: Server | SecureServer, log: Logger): void {
  server.on(
    "drop",
    oncePerMinute((dropped) => {
      log.warn({ dropped, maxConnections: server.maxConnections }, "too many connections, new ones closed");
    }),
  );
}

function drain(server: Server | SecureServer): Promise<void> {
  return new Promise((resolve) => {
    const timeout = setTimeout(() => {
      server.closeAllConnections();
    }, drainTimeoutMs);
    // A kept-alive connection becomes idle only after its last response.
    const closeIdle = setInterval(() => {
      server.closeIdleConnections();
    }, 50);
    server.close(() => {
      clearTimeout(timeout);
      clearInterval(closeIdle);
      resolve();
    });
  });
}
