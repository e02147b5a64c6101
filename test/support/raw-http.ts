import { connect, type Socket } from "node:net";

/** An answer as it came over a socket. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What came over a connection until the other side closed it. */
export interface Exchange {
  readonly answers: readonly RawAnswer[];
  /** How the connection ended: by its orderly end, or with an error. */
  readonly end: string;
}

/** Opens a connection, lets `talk` write to it, and reads until it is closed by the server. */
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
        resolve({ answers: parseAnswers(text), end });
      })
      .on("connect", () => {
        talk(socket);
      });
  });
}

/** Writes all of it, and says what came back. */
export const send = (url: string, ...parts: string[]): Promise<Exchange> =>
  exchange(url, (socket) => {
    for (const part of parts) socket.write(part);
  });

function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = text; rest !== "";) {
    const headEnd = rest.indexOf("\r\n\r\n");
    if (headEnd === -1) throw new Error(`no whole answer: ${JSON.stringify(rest)}`);
    const [statusLine = "", ...lines] = rest.slice(0, headEnd).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(":")).toLowerCase(),
        line.slice(line.indexOf(":") + 1).trim(),
      ]),
    );
    const length = Number(headers["content-length"] ?? 0);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    answers.push({ status, headers, body: rest.slice(headEnd + 4, headEnd + 4 + length) });
    rest = rest.slice(headEnd + 4 + length);
  }
  return answers;
}
