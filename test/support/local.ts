import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import type { TestContext } from "node:test";

import type { Launcher, LaunchOptions, Running } from "@topicsync/embedded";

/** Downloads shared by all tests. */
export const toolsFolder = resolve(import.meta.dirname, "../../.topicsync/tools");

const cleanups = new WeakMap<TestContext, (() => unknown)[]>();

/**
 * Runs cleanups after the test in reverse order, unlike `t.after`: a server stops before its folder is
 * removed.
 */
export function cleanUpAfter(t: TestContext, cleanup: () => unknown): void {
  const known = cleanups.get(t);
  if (known !== undefined) {
    known.push(cleanup);
    return;
  }
  const all = [cleanup];
  cleanups.set(t, all);
  t.after(async () => {
    for (const next of all.toReversed()) await next();
  });
}

/** Creates a folder, removed after the test. */
export function createFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "topicsync-"));
  cleanUpAfter(t, () => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Returns options with a new data folder. */
export function createLaunchOptions(t: TestContext): LaunchOptions {
  return { dataFolder: createFolder(t), toolsFolder, report: () => undefined };
}

/** Starts a server, stopped after the test at the latest. */
export async function start(t: TestContext, launcher: Launcher, options: LaunchOptions): Promise<Running> {
  const running = await launcher.start(options);
  cleanUpAfter(t, () => running.stop());
  return running;
}

/** Starts a server while another one has the port of its former address. */
export async function startElsewhere(
  former: Pick<Running, "address">,
  starting: () => Promise<Running>,
): Promise<Running> {
  const other = createServer();
  await once(other.listen(getPort(former.address), "127.0.0.1"), "listening");
  return starting().finally(() => other.close());
}

/** The port of `host:port` or of a MongoDB URI. */
export const getPort = (address: string): number =>
  Number(/:(\d+)/.exec(address.replace("mongodb://", ""))?.[1]);

/** Restricts the PATH to these scripts (name → script of /bin/sh) for the duration of the test. */
export function restrictPath(t: TestContext, scripts: Record<string, string>): void {
  setPath(t, createScriptFolder(t, scripts));
}

/** Puts these scripts first on the PATH for the duration of the test. */
export function extendPath(t: TestContext, scripts: Record<string, string>): void {
  setPath(t, `${createScriptFolder(t, scripts)}${delimiter}${process.env["PATH"] ?? ""}`);
}

/** Writes a script of /bin/sh. */
export function writeScript(path: string, script: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

function createScriptFolder(t: TestContext, scripts: Record<string, string>): string {
  const folder = createFolder(t);
  for (const [name, script] of Object.entries(scripts)) writeScript(join(folder, name), script);
  return folder;
}

function setPath(t: TestContext, path: string): void {
  const { PATH, JAVA_HOME } = process.env;
  process.env["PATH"] = path;
  delete process.env["JAVA_HOME"];
  cleanUpAfter(t, () => {
    process.env["PATH"] = PATH;
    if (JAVA_HOME !== undefined) process.env["JAVA_HOME"] = JAVA_HOME;
  });
}
