import { createConnection } from "node:net";

/** How a request ended: with a status, or without an answer. */
export type End = number | "broken";

/** One connection that is kept, with one request under way at most. A library's client would cost more than the server. */
export interface SoakConnection {
  /** Sends a whole request; `ended` is called once for it. */
  send(request: string, ended: (end: End) => void): void;
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
  let waiting: ((end: End) => void) | undefined;
  let received = "";
  const finish = (end: End): void => {
    const ended = waiting;
    waiting = undefined;
    received = "";
    ended?.(end);
  };
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    received += chunk;
    const status = statusOfWhole(received);
    if (status !== undefined) finish(status);
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
    finish("broken");
    on.closed(connection);
  });
  socket.on("connect", () => {
    on.opened(connection);
  });
}

/** The status of an answer that is there to its last byte; undefined while it is not. */
function statusOfWhole(answer: string): number | undefined {
  const headEnd = answer.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const head = answer.slice(0, headEnd);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const whole = /\r\ntransfer-encoding: *chunked/i.test(head)
    ? answer.endsWith("\r\n0\r\n\r\n")
    : answer.length >= headEnd + 4 + length;
  return whole ? Number(answer.slice(9, 12)) : undefined;
}
