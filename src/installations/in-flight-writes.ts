import type { InstallationWrite } from "./stores.ts";

/**
 * What a number of writes touch, so that another that must not overtake them is known. Registrations of one token
 * follow each other; so do a user's registrations and removals. Two removals come to the same in either
 * order, and so does a user's removal beside another's registration: whichever comes first, the token ends as the
 * other's.
 */
export interface InFlightWrites {
  add(write: InstallationWrite): void;
  remove(write: InstallationWrite): void;
  /** Whether the write must come after something that is claimed. */
  conflict(write: InstallationWrite): boolean;
}

/** Makes claims; nothing is claimed yet. */
export function createInFlightWrites(): InFlightWrites {
  const tokens = createCounts();
  const registering = createCounts();
  const removing = createCounts();

  function count(write: InstallationWrite, by: 1 | -1): void {
    if (write.kind === "register") {
      tokens.count(write.key.token, by);
      if (write.previousToken !== undefined) tokens.count(write.previousToken, by);
      registering.count(write.user, by);
    } else removing.count(write.user, by);
  }

  return {
    add(write) {
      count(write, 1);
    },
    remove(write) {
      count(write, -1);
    },
    conflict(write) {
      if (write.kind === "remove") return registering.has(write.user);
      return (
        tokens.has(write.key.token) ||
        (write.previousToken !== undefined && tokens.has(write.previousToken)) ||
        removing.has(write.user)
      );
    },
  };
}

function createCounts() {
  const counts = new Map<string, number>();
  return {
    has: (key: string): boolean => counts.has(key),
    count(key: string, by: 1 | -1): void {
      const count = (counts.get(key) ?? 0) + by;
      if (count === 0) counts.delete(key);
      else counts.set(key, count);
    },
  };
}
