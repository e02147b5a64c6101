import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { UnavailableError } from "../errors.ts";
import { createLogger } from "../logger.ts";
import { retryUntilAvailable } from "../concurrency/retry.ts";

const log = await createLogger("silent");
const never = new Promise<never>(() => undefined);

describe("waiting until something is available", () => {
  const wait = (abort: AbortSignal, attempt: (tries: number) => Promise<string>) => {
    let tries = 0;
    return retryUntilAvailable(() => attempt((tries += 1)), { what: "it", abort, log });
  };

  it("repeats the attempt until it succeeds", async () => {
    const answer = await wait(new AbortController().signal, (tries) =>
      tries < 3 ? Promise.reject(new UnavailableError("not yet")) : Promise.resolve(`at try ${tries}`),
    );
    assert.equal(answer, "at try 3");
  });

  it("stops a pending attempt immediately, with the reason of the previous one", async () => {
    const abort = new AbortController();
    const given = wait(abort.signal, (tries) => {
      if (tries === 1) return Promise.reject(new UnavailableError("connection refused"));
      abort.abort();
      return never;
    });
    await assert.rejects(given, { name: "UnavailableError", message: "connection refused" });
  });

  it("stops between two attempts, with the reason of the last one", async () => {
    const abort = new AbortController();
    const given = wait(abort.signal, (tries) => {
      setImmediate(() => {
        abort.abort();
      });
      return Promise.reject(new UnavailableError(`rejected ${tries} times`));
    });
    await assert.rejects(given, { name: "UnavailableError", message: "rejected 1 times" });
  });

  it("reports that there was no answer if no attempt has ended", async () => {
    const abort = new AbortController();
    const given = wait(abort.signal, () => {
      abort.abort();
      return never;
    });
    await assert.rejects(given, { name: "UnavailableError", message: "no response" });
  });

  it("makes no attempt if already aborted", async () => {
    const tried = wait(AbortSignal.abort(), () => assert.fail("tried"));
    await assert.rejects(tried, { name: "UnavailableError", message: "no response" });
  });

  it("does not retry after other errors", async () => {
    const given = wait(new AbortController().signal, (tries) =>
      Promise.reject(new TypeError(`try ${tries}`)),
    );
    await assert.rejects(given, { name: "TypeError", message: "try 1" });
  });
});
