import { userInfo } from "node:os";

/** Who changes something on the command line: "cli:" and the machine's user. No HTTP user has a colon in the name. */
export function commandLineUser(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // A container may run under a number that no name belongs to.
    return `cli:${process.getuid?.() ?? "unknown"}`;
  }
}
