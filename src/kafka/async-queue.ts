/** Hands things from one who gives them to one who takes them, one at a time: neither runs ahead of the other. */
export interface AsyncQueue<T> {
  /** Resolves when everything given was taken, or will never be. */
  give(one: T): Promise<void>;
  /** Whether something lies there that was not taken yet. */
  isWaiting(): boolean;
  /** What was given is still taken; nothing comes after it. */
  end(): void;
  /** Whoever takes gets this error next. */
  fail(error: unknown): void;
  /** Nobody takes any more. */
  close(): void;
  /** The next; undefined after the end. Throws what `fail` was given. */
  take(): Promise<T | undefined>;
}

/** Makes a handover. */
export function createAsyncQueue<T>(): AsyncQueue<T> {
  const given: T[] = [];
  let state: "open" | "ended" | "closed" = "open";
  let failure: { readonly error: unknown } | undefined;
  let changed = Promise.withResolvers<undefined>();

  function change(): void {
    changed.resolve(undefined);
    changed = Promise.withResolvers();
  }

  return {
    async give(one) {
      if (state !== "open" || failure !== undefined) return;
      given.push(one);
      change();
      while (given.length > 0) await changed.promise;
    },
    isWaiting: () => given.length > 0,
    end() {
      if (state === "open") state = "ended";
      change();
    },
    fail(error) {
      failure ??= { error };
      given.length = 0;
      change();
    },
    close() {
      state = "closed";
      given.length = 0;
      change();
    },
    async take() {
      for (;;) {
        if (failure !== undefined) throw failure.error;
        const next = given.shift();
        if (next !== undefined) {
          change();
          return next;
        }
        if (state !== "open") return undefined;
        await changed.promise;
      }
    },
  };
}
