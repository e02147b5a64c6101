import type { InstallationWrite } from "./stores.ts";

/**
 * A set of writes that knows which other writes conflict with it, so must not overtake it: registrations of one token, and a user's
 * registrations and removals. Two removals have the same result in either order. So have a user's removal and another
 * user's registration: the token ends as the other user's.
 */
export interface InFlightWrites {
  add(write: InstallationWrite): void;
  remove(write: InstallationWrite): void;
  hasConflict(write: InstallationWrite): boolean;
  /** The number of writes. */
  getSize(): number;
}

export function createInFlightWrites(): InFlightWrites {
  const tokens = createMultiset();
  const registeringUsers = createMultiset();
  const removingUsers = createMultiset();
  let size = 0;

  function change(write: InstallationWrite, by: 1 | -1): void {
    size += by;
    if (write.kind === "register") {
      tokens.change(write.key.token, by);
      if (write.previousToken !== undefined) tokens.change(write.previousToken, by);
      registeringUsers.change(write.user, by);
    } else removingUsers.change(write.user, by);
  }

  return {
    add(write) {
      change(write, 1);
    },
    remove(write) {
      change(write, -1);
    },
    hasConflict(write) {
      if (write.kind === "remove") return registeringUsers.has(write.user);
      return (
        tokens.has(write.key.token) ||
        (write.previousToken !== undefined && tokens.has(write.previousToken)) ||
        removingUsers.has(write.user)
      );
    },
    getSize: () => size,
  };
}

function createMultiset() {
  const counts = new Map<string, number>();
  return {
    has: (key: string): boolean => counts.has(key),
    change(key: string, by: 1 | -1): void {
      const count = (counts.get(key) ?? 0) + by;
      if (count === 0) counts.delete(key);
      else counts.set(key, count);
    },
  };
}
