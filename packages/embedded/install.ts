import { existsSync } from "node:fs";
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { isAlive } from "./process.ts";
import type { Report } from "./stack.ts";

/**
 * Creates a folder unless it exists. `fill` works in a temporary folder, which is renamed when it is
 * complete, so an interrupted installation is never mistaken for a complete one. Concurrent processes wait
 * for the first; the lock only saves work, since the rename alone is safe.
 */
export async function installOnce(folder: string, fill: (temporary: string) => Promise<void>): Promise<void> {
  if (existsSync(folder)) return;
  await mkdir(dirname(folder), { recursive: true });
  const unlock = await acquireLock(folder);
  if (unlock === undefined) return;
  try {
    await removeLeftovers(folder);
    const temporary = await mkdtemp(`${folder}.partial-${process.pid}-`);
    try {
      await fill(temporary);
      await rename(temporary, folder);
    } catch (error) {
      await rm(temporary, { recursive: true, force: true });
      if (!existsSync(folder)) throw error;
    }
  } finally {
    await unlock();
  }
}

interface Download {
  /** For messages: `downloading …`. */
  readonly step: string;
  /** How many parts there are, about. Only scales the progress. */
  readonly parts: number;
  readonly report: Report;
}

/** As installOnce, and reports the progress: `fill` calls back for each part. */
export async function downloadOnce(
  folder: string,
  { step, parts, report }: Download,
  fill: (temporary: string, onPart: () => void) => Promise<void>,
): Promise<void> {
  if (existsSync(folder)) return;
  report(step, 0);
  let done = 0;
  await installOnce(folder, (temporary) =>
    fill(temporary, () => {
      report(step, Math.min(0.99, ++done / parts));
    }),
  );
  report(step, 1);
}

const maxInstallMs = 15 * 60_000;

/**
 * Waits for the folder's lock and returns its release; undefined if the folder was installed in the meantime.
 */
async function acquireLock(folder: string): Promise<(() => Promise<void>) | undefined> {
  const path = `${folder}.lock`;
  for (;;) {
    if (existsSync(folder)) return undefined;
    try {
      const file = await open(path, "wx");
      await file.writeFile(String(process.pid));
      await file.close();
      return () => rm(path, { force: true });
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw error;
    }
    if (await isAbandoned(path)) await rm(path, { force: true });
    else await sleep(100);
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(path);
    const age = Date.now() - mtimeMs;
    const owner = await readFile(path, "utf8");
    // A lock without a process id was created just now, or by a process that was killed before writing it.
    return age > maxInstallMs || (owner === "" ? age > 5_000 : !isAlive(Number(owner)));
  } catch (error) {
    if (hasCode(error, "ENOENT")) return false;
    throw error;
  }
}

/** Removes the temporary folders of processes that were killed during the installation. */
async function removeLeftovers(folder: string): Promise<void> {
  const prefix = `${basename(folder)}.partial-`;
  for (const name of await readdir(dirname(folder))) {
    if (!name.startsWith(prefix) || isAlive(Number.parseInt(name.slice(prefix.length), 10))) continue;
    await rm(join(dirname(folder), name), { recursive: true, force: true });
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
