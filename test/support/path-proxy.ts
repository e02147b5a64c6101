import { once } from "node:events";
import { createServer, request as sendRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

/** A reverse proxy that forwards what is below a path to a service. */
export interface PathProxy {
  /** Where browsers reach the service: `http://127.0.0.1:1234/topicsync`. */
  readonly publicUrl: string;
  /** The requests so far that were not below the path; these got 404. */
  readonly strays: readonly string[];
}

interface PathProxyOptions {
  readonly path: string;
  /** The URL of the service, which starts later: it must know the public URL. */
  readonly getTarget: () => string;
  /** Whether the path is kept, as by nginx's `proxy_pass http://service`, or removed. */
  readonly keepsPath: boolean;
}

/** The servers that the tests of this file started. */
const servers: Server[] = [];
after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

/** Starts a reverse proxy on 127.0.0.1 until the tests of this file end. Like nginx, it replaces the Host. */
export async function startPathProxy({ path, getTarget, keepsPath }: PathProxyOptions): Promise<PathProxy> {
  const strays: string[] = [];
  const server = createServer((request, response) => {
    const { method, headers, url = "" } = request;
    const rest = url.slice(path.length);
    if (!url.startsWith(path) || !/^(?:[/?]|$)/.test(rest)) {
      strays.push(url);
      response.writeHead(404).end();
      return;
    }
    const target = getTarget();
    const forwarded = sendRequest(
      `${target}${keepsPath ? path : ""}${rest}`,
      { method, headers: { ...headers, host: new URL(target).host }, agent: false },
      (answer) => {
        const { headersDistinct: kept } = answer;
        // They are about the connection to the service, which stays open for longer than the browser's.
        delete kept["connection"];
        delete kept["keep-alive"];
        for (const [name, values = []] of Object.entries(kept)) response.setHeader(name, values);
        response.writeHead(answer.statusCode ?? 502);
        answer.pipe(response);
      },
    );
    forwarded.on("error", () => response.destroy());
    response.on("close", () => forwarded.destroy());
    request.pipe(forwarded);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  servers.push(server);
  return { publicUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, strays };
}
