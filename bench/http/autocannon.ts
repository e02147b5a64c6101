/**
 * Generates the load of `npm run bench -- http` if wrk is not installed: each request registers a new token,
 * or the next token of a pool. Prints one line of JSON, like load.lua; times are in ms, the duration in
 * seconds.
 *
 * Usage: node bench/http/autocannon.ts PACKAGES-FOLDER LOAD-FILE
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import type { Load } from "./load.ts";
import { createBody, randomToken } from "./request.ts";

/** The part of autocannon's API used here; it is not a dependency, so its types are not installed. */
type Autocannon = (options: object) => Promise<{
  readonly requests: { readonly total: number };
  readonly duration: number;
  readonly latency: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly non2xx: number;
  readonly errors: number;
}>;

const [, , packages = "", loadFile = ""] = process.argv;
const requireInstalled = createRequire(join(packages, "package.json"));
const autocannon = requireInstalled("autocannon") as Autocannon;
const { url, template, connections, seconds, pool } = JSON.parse(readFileSync(loadFile, "utf8")) as Load;

let number = 0;
const nextToken = (): string => pool?.[number++ % pool.length] ?? randomToken();

const { requests, duration, latency, non2xx, errors } = await autocannon({
  url,
  connections,
  duration: seconds,
  requests: [
    {
      method: "POST",
      path: template.path,
      headers: template.headers,
      setupRequest: (request: object) => ({ ...request, body: createBody(template, nextToken()) }),
    },
  ],
});
const { p50, p99, max } = latency;
const line = { requests: requests.total, duration, p50, p99, max, rejected: non2xx, broken: errors };
process.stdout.write(`${JSON.stringify(line)}\n`);
