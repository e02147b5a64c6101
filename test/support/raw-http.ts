import { connect, type Socket } from "node:net";

/** A response as it was read from a socket. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What was received over a connection until the server closed it. */
export interface Exchange {
  readonly responses: readonly RawResponse[];
  /** How the connection ended: "end", or the code of an error. */
  readonly end: string;
}

/** Opens a connection, lets `talk` write to it, and reads until the server closes it. */
export function exchange(url: string, talk: (socket: Socket) => void): Promise<Exchange> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    let text = "";
    let end = "end";
    socket
      .setEncoding("latin1")
      .on("data", (chunk: string) => (text += chunk))
      .on("end", () => socket.end())
      .on("error", (error: Error & { code?: string }) => (end = error.code ?? error.message))
      .on("close", () => {
        resolve({ responses: parseResponses(text), end });
      })
      .on("connect", () => {
        talk(socket);
      });
  });
}

/** Writes all parts and returns what was received. */
export const send = (url: string, ...parts: string[]): Promise<Exchange> =>
  exchange(url, (socket) => {
    for (const part of parts) socket.write(part);
  });

function parseResponses(text: string): RawResponse[] {
  const responses: RawResponse[] = [];
  for (let rest = text; rest !== "";) {
    const headEnd = rest.indexOf("\r\n\r\n");
    if (headEnd === -1) throw new Error(`incomplete response: ${JSON.stringify(rest)}`);
    const [statusLine = "", ...lines] = rest.slice(0, headEnd).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(":")).toLowerCase(),
        line.slice(line.indexOf(":") + 1).trim(),
      ]),
    );
    const length = Number(headers["content-length"] ?? 0);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    responses.push({ status, headers, body: rest.slice(headEnd + 4, headEnd + 4 + length) });
    rest = rest.slice(headEnd + 4 + length);
  }
  return responses;
}
