import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createLifecycle } from "../lifecycle.ts";
import { createLogger } from "../logger.ts";

const log = await createLogger("silent");

describe("stopping", () => {
  it("releases resources in reverse order, each once, and waits for them", async () => {
    const released: string[] = [];
    const lifecycle = createLifecycle(log);
    for (const name of ["a", "b", "c"]) {
      lifecycle.onStop(name, async () => {
        await new Promise((resolve) => setImmediate(resolve));
        released.push(name);
      });
    }
    await Promise.all([lifecycle.stop(), lifecycle.stop()]);
    assert.deepEqual(released, ["c", "b", "a"]);
  });

  it("continues after a failed release", async () => {
    const released: string[] = [];
    const lifecycle = createLifecycle(log);
    lifecycle.onStop("first", () => void released.push("first"));
    lifecycle.onStop("second", () => Promise.reject(new Error("no")));
    await lifecycle.stop();
    assert.deepEqual(released, ["first"]);
  });
});
