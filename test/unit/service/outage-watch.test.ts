import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { createLifecycle } from "@topicsync/lib/lifecycle";
import { createLogger } from "@topicsync/lib/logger";
import { replacePlatform } from "@topicsync/lib/platform";
import type { CheckResult } from "../../../src/operations/framework/services.ts";
import { watchOutages } from "../../../src/service/outage-watch.ts";

describe("the watch of outages", () => {
  it("logs one line when a server goes, and one when it is back", async () => {
    const lines: string[] = [];
    const log = await createLogger("info", { write: (line) => void lines.push(JSON.parse(line).msg) });
    let check: () => void = () => assert.fail("nothing is scheduled");
    const former = replacePlatform({
      ...{ now: () => 0, elapsed: () => 0, random: () => 0, fillRandom: () => undefined },
      scheduleSoon: () => () => undefined,
      schedule(_delayMs, action) {
        check = action;
        return () => undefined;
      },
    });
    after(() => void replacePlatform(former));
    let kafka: CheckResult = { ok: true };
    watchOutages(() => Promise.resolve({ kafka, mongodb: { ok: true }, consumer: { ok: false } }), {
      lifecycle: createLifecycle(log),
      log,
    });
    const pass = async (result: CheckResult) => {
      kafka = result;
      check();
      await nextTurn();
      return lines.splice(0);
    };
    const away = { ok: false, reason: "no response" };
    assert.deepEqual(await pass(away), []);
    assert.deepEqual(await pass({ ok: true }), [], "one failure is none");
    assert.deepEqual(await pass(away), []);
    assert.deepEqual(await pass(away), ["kafka does not respond"]);
    assert.deepEqual(await pass(away), []);
    assert.deepEqual(await pass({ ok: true }), ["kafka responds again"]);
    assert.deepEqual(await pass({ ok: true }), []);
  });
});
