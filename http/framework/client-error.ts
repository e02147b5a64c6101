import { randomUUID } from "node:crypto";
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

import { toErrorBody, HttpError, getStatus } from "./errors.ts";
import type { Headers } from "./headers.ts";

/** Whoever sent nonsense gets so long to read the answer. */
const lingerMs = 500;

/**
 * Answers what Node's parser refuses before there is a request (malformed, headers too large, too slow) with the one
 * error body, and closes the connection. A listener for `clientError`.
 */
export function answerClientError(headers: Headers) {
  /** Each further piece of nonsense is an error of its own. */
  const answered = new WeakSet<Duplex>();
  return (error: Error & { readonly code?: string }, socket: Duplex): void => {
    const { code = "" } = error;
    if (answered.has(socket)) return;
    answered.add(socket);
    // Closed by the other side, answered already, or no HTTP at all: a failed TLS handshake.
    if (!socket.writable || code === "ECONNRESET" || code === "EPIPE" || isFromTls(code)) {
      socket.destroy();
      return;
    }
    refuse(socket, refusalOf(code), headers);
  };
}

/** Answers whoever takes this for a proxy; Node would just close the connection. A listener for `connect`. */
export function answerConnect(headers: Headers) {
  return (_request: IncomingMessage, socket: Duplex): void => {
    // From here on the socket is nobody's but ours.
    socket.on("error", () => socket.destroy());
    refuse(socket, new HttpError("BAD_REQUEST", "This is no proxy: CONNECT is not possible."), headers);
  };
}

function refuse(socket: Duplex, refusal: HttpError, headers: Headers): void {
  afterAnswers(socket, () => {
    socket.end(rawAnswer(refusal, headers));
    setTimeout(() => socket.destroy(), lingerMs).unref();
  });
}

const isFromTls = (code: string): boolean => code.startsWith("ERR_SSL") || code.startsWith("ERR_TLS");

function refusalOf(code: string): HttpError {
  if (code === "HPE_HEADER_OVERFLOW")
    return new HttpError("HEADERS_TOO_LARGE", "The request's headers are too large.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new HttpError("REQUEST_TIMEOUT", "The request did not come to its end in time.");
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW")
    return new HttpError("BODY_TOO_LARGE", "The body's chunk extensions are too large.");
  return new HttpError("BAD_REQUEST", "The request is not HTTP.");
}

/**
 * Requests that came whole before the nonsense, on the same connection, get their answers first. The answer under way of
 * the very request that is cut off or malformed is replaced, unless it is written already and only waits for the rest of the
 * body (unread.ts): then it is the answer.
 */
function afterAnswers(socket: Duplex, then: () => void): void {
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null };
  if (answer === undefined || answer === null) then();
  else if (answer.req.complete) {
    answer.once("close", () => {
      if (socket.writable) afterAnswers(socket, then);
    });
  } else if (answer.headersSent) answer.end();
  else then();
}

function rawAnswer(refusal: HttpError, headers: Headers): string {
  const body = JSON.stringify(toErrorBody(refusal));
  const status = getStatus(refusal);
  const lines = Object.entries({
    ...headers,
    "X-Request-Id": randomUUID(),
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(body)),
    Connection: "close",
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`;
}
