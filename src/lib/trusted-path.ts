import { lstatSync, statSync } from "node:fs";

import { ConfigurationError } from "./errors.ts";

/**
 * Throws a ConfigurationError if another user may decide what the file or folder contains: it belongs to
 * somebody other than this user and root, or others may write to it. A missing one is accepted, and so is
 * everything on Windows.
 */
export function requireTrusted(path: string): void {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  const target = statSync(path, { throwIfNoEntry: false });
  const [user, group] = [process.getuid?.(), process.getgid?.()];
  if (entry === undefined || target === undefined || user === undefined) return;
  if ([entry, target].some(({ uid }) => uid !== user && uid !== 0))
    throw new ConfigurationError(
      `${path} belongs to another user and is not used: make it your own (chown), or run topicsync in another folder`,
    );
  // Many systems give each user a group of their own, and files that it may write to.
  const groupMayWrite = (target.mode & 0o020) !== 0 && target.gid !== group;
  if (groupMayWrite || (target.mode & 0o002) !== 0)
    throw new ConfigurationError(
      `${path} may be changed by other users and is not used: take their right away (chmod go-w)`,
    );
}
