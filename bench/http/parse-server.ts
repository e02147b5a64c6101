/**
 * Starts Parse Server for `npm run bench -- http`. Its own command cannot turn off its logs. Its packages are
 * not a dependency of the project and are loaded from PACKAGES-FOLDER.
 *
 * Usage: PARSE_SERVER_LOGS_FOLDER=null node bench/http/parse-server.ts PACKAGES-FOLDER URI PORT
 */
import { createRequire } from "node:module";
import { join } from "node:path";

import { localhost } from "@topicsync/embedded";

/** The part of Parse Server's API used here. */
interface ParseServerPackage {
  readonly ParseServer: { startApp(options: object): Promise<unknown> };
}

const [, , packages = "", databaseURI = "", port = ""] = process.argv;
const requireInstalled = createRequire(join(packages, "package.json"));
const { ParseServer } = requireInstalled("parse-server") as ParseServerPackage;
await ParseServer.startApp({
  appId: "bench",
  masterKey: "a key of the benchmark",
  databaseURI,
  host: localhost,
  port: Number(port),
  mountPath: "/parse",
  serverURL: `http://${localhost}:${port}/parse`,
  silent: true,
  logsFolder: null,
});
