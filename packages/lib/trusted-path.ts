import { lstatSync, statSync, type Stats } from "node:fs";

import { dirname, resolve } from "node:path";

import { ConfigurationError } from "./errors.ts";

/**
 * Throws a ConfigurationError if another user may decide what the file or folder contains: it, or the folder
 * that it is in, belongs to somebody other than this user and root, or others may write to it. A missing one
 * is accepted, and so is everything on Windows.
 */
export function requireTrusted(path: string): void {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  const target = statSync(path, { throwIfNoEntry: false });
  if (entry === undefined || target === undefined || process.getuid === undefined) return;
  if (isForeign(entry) || isForeign(target)) throw createForeignError(path);
  requireTrustedFolder(dirname(resolve(path)));
  // Many systems give each user a group of their own, and files that it may write to.
  const groupMayWrite = (target.mode & 0o020) !== 0 && target.gid !== process.getgid?.();
  if (groupMayWrite || (target.mode & 0o002) !== 0)
    throw new ConfigurationError(
      `${path} may be changed by other users and is not used: take their right away (chmod go-w)`,
    );
}

/** Throws a ConfigurationError if the folder belongs to another user, who may replace what is in it. */
export function requireTrustedFolder(folder: string): void {
  const entry = statSync(folder, { throwIfNoEntry: false });
  if (entry !== undefined && isForeign(entry)) throw createForeignError(folder);
}

function isForeign({ uid }: Stats): boolean {
  const user = process.getuid?.();
  return user !== undefined && uid !== user && uid !== 0;
}

const createForeignError = (path: string): ConfigurationError =>
  new ConfigurationError(
    `${path} belongs to another user and is not used: make it your own (chown), or run topicsync in another folder`,
  );
