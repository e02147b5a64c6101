import { isDeepStrictEqual } from "node:util";

import { getErrorMessage } from "../errors.ts";
import type { Logger } from "../logger.ts";

interface RotatedOptions<T> {
  /** The setting that names the files, for the log. */
  readonly setting: string;
  /** What the files contained when the settings were read. */
  readonly initial: T;
  /** Reads and checks the files. Throws if their content cannot be used, such as a file half written. */
  readonly read: () => T;
  readonly log: Logger;
}

/**
 * Files of a setting that may be replaced while the process runs, as Kubernetes does. They are read again
 * whenever their content is used.
 *
 * Invariant: the content is always a valid one; an invalid new one is reported, and the former stays in use.
 */
export class Rotated<T> {
  readonly #options: RotatedOptions<T>;
  #current: T;
  #lastFault: string | undefined;

  constructor(options: RotatedOptions<T>) {
    this.#options = options;
    this.#current = options.initial;
  }

  /** Returns the same value until the content changes. */
  get(): T {
    const { setting, read, log } = this.#options;
    let found: T;
    try {
      found = read();
    } catch (error) {
      const reason = getErrorMessage(error);
      if (reason !== this.#lastFault)
        log.warn({ setting, reason }, "changed file is invalid, keeping the old content");
      this.#lastFault = reason;
      return this.#current;
    }
    this.#lastFault = undefined;
    if (!isDeepStrictEqual(found, this.#current)) {
      log.info({ setting }, "changed file read");
      this.#current = found;
    }
    return this.#current;
  }
}
