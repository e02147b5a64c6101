import { invariant } from "@topicsync/lib/invariant";
import type { InstallationWrite } from "./stores.ts";

/**
 * A set of writes that knows which other writes conflict with it, so must not overtake it: registrations of
 * one token, and a user's registrations and removals. Two removals have the same result in either order. So
 * have a user's removal and another user's registration: the token ends as the other user's.
 */
export class InFlightWrites {
  readonly #tokens = createMultiset();
  readonly #registeringUsers = createMultiset();
  readonly #removingUsers = createMultiset();
  #size = 0;

  /** The number of writes. */
  get size(): number {
    return this.#size;
  }

  add(write: InstallationWrite): void {
    this.#change(write, 1);
  }

  remove(write: InstallationWrite): void {
    this.#change(write, -1);
  }

  hasConflict(write: InstallationWrite): boolean {
    if (write.kind === "remove") return this.#registeringUsers.has(write.user);
    return (
      this.#tokens.has(write.key.token) ||
      (write.previousToken !== undefined && this.#tokens.has(write.previousToken)) ||
      this.#removingUsers.has(write.user)
    );
  }

  #change(write: InstallationWrite, by: 1 | -1): void {
    this.#size += by;
    invariant(this.#size >= 0, "no write is removed that was not added");
    if (write.kind === "register") {
      this.#tokens.change(write.key.token, by);
      if (write.previousToken !== undefined) this.#tokens.change(write.previousToken, by);
      this.#registeringUsers.change(write.user, by);
    } else this.#removingUsers.change(write.user, by);
  }
}

function createMultiset() {
  const counts = new Map<string, number>();
  return {
    has: (key: string): boolean => counts.has(key),
    change(key: string, by: 1 | -1): void {
      const count = (counts.get(key) ?? 0) + by;
      invariant(count >= 0, "a conflict ends once, with the write that caused it");
      if (count === 0) counts.delete(key);
      else counts.set(key, count);
    },
  };
}
