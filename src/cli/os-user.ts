import { userInfo } from "node:os";

/** The machine's user who runs the command. */
export function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that no name belongs to.
    return String(process.getuid?.() ?? "unknown");
  }
}

/** Who changes topics on the command line: "cli:" and the machine's user. No HTTP user has a colon in the name. */
export const commandLineUser = (): string => `cli:${osUser()}`;
