import { createConnection } from "node:net";

/** The status, or "broken" without a response. */
export type Outcome = number | "broken";

/**
 * A persistent connection with at most one request in flight. A library's client would use more CPU than the
 * server.
 */
export interface SoakConnection {
  /** Sends a raw request and calls `ended` once. With `last` the connection closes. */
  send(request: string, ended: (end: Outcome, last: boolean) => void): void;
  close(): void;
}

/** `closed` is also called if the connection cannot be opened. */
export function openConnection(
  { hostname, port }: URL,
  on: {
    opened: (connection: SoakConnection) => void;
    closed: (connection: SoakConnection) => void;
  },
): void {
  const socket = createConnection({ host: hostname, port: Number(port), noDelay: true });
  let waiting: ((end: Outcome, last: boolean) => void) | undefined;
  let received = "";
  const finish = (end: Outcome, last: boolean): void => {
    const ended = waiting;
    waiting = undefined;
    received = "";
    ended?.(end, last);
  };
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    received += chunk;
    const response = parseResponse(received);
    if (response === undefined) return;
    // No further request may be sent (RFC 9112, section 9.6).
    if (response.last) socket.destroy();
    finish(response.status, response.last);
  });
  const connection: SoakConnection = {
    send(request, ended) {
      waiting = ended;
      socket.write(request);
    },
    close: () => socket.destroy(),
  };
  socket.on("error", () => undefined);
  socket.on("close", () => {
    finish("broken", true);
    on.closed(connection);
  });
  socket.on("connect", () => {
    on.opened(connection);
  });
}

/** Undefined until the response is complete. */
function parseResponse(response: string): { readonly status: number; readonly last: boolean } | undefined {
  const headEnd = response.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const head = response.slice(0, headEnd);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const whole = /\r\ntransfer-encoding: *chunked/i.test(head)
    ? response.endsWith("\r\n0\r\n\r\n")
    : response.length >= headEnd + 4 + length;
  if (!whole) return undefined;
  return { status: Number(response.slice(9, 12)), last: /\r\nconnection: *close/i.test(head) };
}
