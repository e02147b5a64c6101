import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import type { TestContext } from "node:test";

import type { Launcher, LaunchOptions, Running } from "../../../src/embedded/stack.ts";

/** The downloads that all tests share. */
export const toolsFolder = resolve(import.meta.dirname, "../../../.topicsync/tools");

const cleanups = new WeakMap<TestContext, (() => unknown)[]>();

/** Does something after the test, last in, first out: node:test's own order would remove a folder before its server. */
export function afterwards(t: TestContext, cleanup: () => unknown): void {
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

/** A folder that is gone after the test. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "topicsync-"));
  afterwards(t, () => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Options with a data folder of the test's own. */
export function launchOptions(t: TestContext): LaunchOptions {
  return { dataFolder: temporaryFolder(t), toolsFolder, report: () => undefined };
}

/** Starts a server that is stopped after the test at the latest. */
export async function start<R extends Running>(
  t: TestContext,
  launcher: Launcher<R>,
  options: LaunchOptions,
): Promise<R> {
  const running = await launcher.start(options);
  afterwards(t, () => running.stop());
  return running;
}

/** The port of `host:port` or of a MongoDB URI. */
export const portOf = (address: string): number =>
  Number(/:(\d+)/.exec(address.replace("mongodb://", ""))?.[1]);

/** Whether a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** For the time of the test the PATH has these scripts (name → what /bin/sh runs) and nothing else. */
export function pathWithOnly(t: TestContext, scripts: Record<string, string>): void {
  usePath(t, scriptFolder(t, scripts));
}

/** For the time of the test these scripts come before everything on the PATH. */
export function pathWith(t: TestContext, scripts: Record<string, string>): void {
  usePath(t, `${scriptFolder(t, scripts)}${delimiter}${process.env["PATH"] ?? ""}`);
}

/** Writes a script that /bin/sh runs. */
export function writeScript(path: string, script: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

function scriptFolder(t: TestContext, scripts: Record<string, string>): string {
  const folder = temporaryFolder(t);
  for (const [name, script] of Object.entries(scripts)) writeScript(join(folder, name), script);
  return folder;
}

function usePath(t: TestContext, path: string): void {
  const { PATH, JAVA_HOME } = process.env;
  process.env["PATH"] = path;
  delete process.env["JAVA_HOME"];
  afterwards(t, () => {
    process.env["PATH"] = PATH;
    if (JAVA_HOME !== undefined) process.env["JAVA_HOME"] = JAVA_HOME;
  });
}
