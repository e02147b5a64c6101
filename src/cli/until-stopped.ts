/** Runs something with a signal that Ctrl-C and SIGTERM abort, and its end. */
export async function runUntilStopped<T>(work: (abort: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const onSignal = (): void => {
    abort.abort();
  };
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  try {
    return await work(abort.signal);
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
    // What still waits must not delay the exit.
    abort.abort();
  }
}
