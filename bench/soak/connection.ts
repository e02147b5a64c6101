import { createConnection } from "node:net";

/** How a request ended: with a status, or without an answer. */
export type End = number | "broken";

/**
 * One connection that is kept, with one request under way at most. A library's client would cost more than
 * the server.
 */
export interface SoakConnection {
  /** Sends a whole request; `ended` is called once for it. After its `last` answer the connection closes. */
  send(request: string, ended: (end: End, last: boolean) => void): void;
  close(): void;
}

/** Opens a connection; `closed` is called when it breaks, and when it cannot be opened. */
export function openConnection(
  { hostname, port }: URL,
  on: {
    opened: (connection: SoakConnection) => void;
    closed: (connection: SoakConnection) => void;
  },
): void {
  const socket = createConnection({ host: hostname, port: Number(port), noDelay: true });
  let waiting: ((end: End, last: boolean) => void) | undefined;
  let received = "";
  const finish = (end: End, last: boolean): void => {
    const ended = waiting;
    waiting = undefined;
    received = "";
    ended?.(end, last);
  };
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    received += chunk;
    const answer = wholeAnswer(received);
    if (answer === undefined) return;
    // Nothing more may be sent then (RFC 9112, section 9.6).
    if (answer.last) socket.destroy();
    finish(answer.status, answer.last);
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

/** An answer that is there to its last byte; undefined while it is not. */
function wholeAnswer(answer: string): { readonly status: number; readonly last: boolean } | undefined {
  const headEnd = answer.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const head = answer.slice(0, headEnd);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const whole = /\r\ntransfer-encoding: *chunked/i.test(head)
    ? answer.endsWith("\r\n0\r\n\r\n")
    : answer.length >= headEnd + 4 + length;
  if (!whole) return undefined;
  return { status: Number(answer.slice(9, 12)), last: /\r\nconnection: *close/i.test(head) };
}
