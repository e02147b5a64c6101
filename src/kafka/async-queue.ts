/** Passes items from a producer to a consumer, one at a time. */
export interface AsyncQueue<T> {
  /** Resolves when the queue is empty again, or was failed or closed. */
  push(item: T): Promise<void>;
  isEmpty(): boolean;
  /** No more items follow; those in the queue are still delivered. */
  end(): void;
  /** Discards the items; `shift` throws this error. */
  fail(error: unknown): void;
  /** The consumer has stopped. */
  close(): void;
  /** Waits for the next item; undefined after the end. Throws the error given to `fail`. */
  shift(): Promise<T | undefined>;
}

export function createAsyncQueue<T>(): AsyncQueue<T> {
  const items: T[] = [];
  let state: "open" | "ended" | "closed" = "open";
  let failure: { readonly error: unknown } | undefined;
  let changed = Promise.withResolvers<undefined>();

  function notify(): void {
    changed.resolve(undefined);
    changed = Promise.withResolvers();
  }

  return {
    async push(item) {
      if (state !== "open" || failure !== undefined) return;
      items.push(item);
      notify();
      while (items.length > 0) await changed.promise;
    },
    isEmpty: () => items.length === 0,
    end() {
      if (state === "open") state = "ended";
      notify();
    },
    fail(error) {
      failure ??= { error };
      items.length = 0;
      notify();
    },
    close() {
      state = "closed";
      items.length = 0;
      notify();
    },
    async shift() {
      for (;;) {
        if (failure !== undefined) throw failure.error;
        const next = items.shift();
        if (next !== undefined) {
          notify();
          return next;
        }
        if (state !== "open") return undefined;
        await changed.promise;
      }
    },
  };
}
