import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { UnavailableError } from "../../../src/lib/errors.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { retryUntilAvailable } from "../../../src/lib/retry.ts";

const log = await createLogger("silent");
const never = new Promise<never>(() => undefined);

describe("waiting until something is available", () => {
  const waiting = (abort: AbortSignal, attempt: (tries: number) => Promise<string>) => {
    let tries = 0;
    return retryUntilAvailable(() => attempt((tries += 1)), { what: "it", abort, log });
  };

  it("tries again until there is an answer", async () => {
    const answer = await waiting(new AbortController().signal, (tries) =>
      tries < 3 ? Promise.reject(new UnavailableError("not yet")) : Promise.resolve(`at try ${tries}`),
    );
    assert.equal(answer, "at try 3");
  });

  it("gives up at once what says nothing, with the reason of the try before", async () => {
    const abort = new AbortController();
    const given = waiting(abort.signal, (tries) => {
      if (tries === 1) return Promise.reject(new UnavailableError("connection refused"));
      abort.abort();
      return never;
    });
    await assert.rejects(given, { name: "UnavailableError", message: "connection refused" });
  });

  it("gives up between two tries, with the reason of the last", async () => {
    const abort = new AbortController();
    const given = waiting(abort.signal, (tries) => {
      setImmediate(() => {
        abort.abort();
      });
      return Promise.reject(new UnavailableError(`refused ${tries} times`));
    });
    await assert.rejects(given, { name: "UnavailableError", message: "refused 1 times" });
  });

  it("says that there was no answer when there was none at all", async () => {
    const abort = new AbortController();
    const given = waiting(abort.signal, () => {
      abort.abort();
      return never;
    });
    await assert.rejects(given, { name: "UnavailableError", message: "no answer" });
  });

  it("does not try where it was given up before", async () => {
    const tried = waiting(AbortSignal.abort(), () => assert.fail("tried"));
    await assert.rejects(tried, { name: "UnavailableError", message: "no answer" });
  });

  it("does not try again after another error", async () => {
    const given = waiting(new AbortController().signal, (tries) =>
      Promise.reject(new TypeError(`try ${tries}`)),
    );
    await assert.rejects(given, { name: "TypeError", message: "try 1" });
  });
});
