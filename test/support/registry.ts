import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { runCommand, startProcess, waitUntilReady, findFreePort, localhost } from "@topicsync/embedded";
import { installPackages } from "../../bench/support/npm.ts";
import { toolsFolder } from "./local.ts";
import project from "./verdaccio/package.json" with { type: "json" };

const name = `Verdaccio ${project.dependencies.verdaccio}`;

/**
 * Starts an npm registry on this machine, to which anybody may publish `topicsync`, stopped after the tests
 * of this file. Other packages come from the registry of npm's settings.
 */
export async function startRegistry(): Promise<{ url: string; folder: string }> {
  const packages = await installPackages(
    { name, project: join(import.meta.dirname, "verdaccio") },
    { toolsFolder, report: () => undefined },
  );
  const folder = mkdtempSync(join(tmpdir(), "topicsync-registry-"));
  const { stdout: upstream } = await runCommand("npm", ["config", "get", "registry"]);
  const config = join(folder, "config.yaml");
  writeFileSync(config, JSON.stringify(createConfig(folder, upstream.trim())));
  const address = `${localhost}:${await findFreePort()}`;
  const server = await startProcess({
    command: process.execPath,
    args: [
      join(packages, "node_modules/verdaccio/bin/verdaccio"),
      ...["--config", config, "--listen", address],
    ],
    logFile: join(folder, "verdaccio.log"),
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `http://${address}/`;
  await waitUntilReady(server, async () => (await fetch(`${url}-/ping`)).ok, { name });
  return { url, folder };
}

/**
 * Notes that each published version of `topicsync` has a shrinkwrap, which npm then follows. npm's own
 * registry finds that out itself; Verdaccio only passes it on.
 */
export function noteShrinkwrap(folder: string): void {
  const file = join(folder, "storage/topicsync/package.json");
  const stored = JSON.parse(readFileSync(file, "utf8")) as { versions: Record<string, object> };
  for (const version of Object.values(stored.versions)) Object.assign(version, { _hasShrinkwrap: true });
  writeFileSync(file, JSON.stringify(stored));
}

/** JSON is YAML. */
const createConfig = (folder: string, upstream: string): object => ({
  storage: join(folder, "storage"),
  auth: { htpasswd: { file: join(folder, "htpasswd") } },
  uplinks: { upstream: { url: upstream } },
  packages: {
    topicsync: { access: "$all", publish: "$all" },
    "**": { access: "$all", proxy: "upstream" },
  },
  web: { enable: false },
  log: { type: "stdout", format: "json", level: "warn" },
  max_body_size: "100mb",
});
