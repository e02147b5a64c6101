import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { AuditEntry, Origin } from "../audit/audit.ts";
import { RefusalAudit } from "../audit/refusals.ts";

function createScene() {
  const entries: AuditEntry[] = [];
  const refusals = new RefusalAudit({
    on: true,
    record: (event, origin) => void entries.push({ event, origin }),
    recordAll: (some) => void entries.push(...some),
  });
  const toOrigin = (by: string): Origin => ({ via: "http", by, from: "192.0.2.1", requestId: by });
  return {
    entries,
    refusals,
    fail: (user: string) => {
      refusals.record({ action: "login.failed", user, credentials: "password" }, toOrigin(""));
    },
    refuse: (by: string, operation = "listUsers") => {
      refusals.record({ action: "request.refused", operation, reason: "admin" }, toOrigin(by));
    },
  };
}

const getCounts = (entries: readonly AuditEntry[]) =>
  entries.map(({ event }) => ("count" in event ? event.count : undefined));

describe("the audit of refusals", () => {
  it("has a line for the first of its kind at once, and one for all others after a minute", () => {
    const { entries, refusals, fail, refuse } = createScene();
    for (let i = 0; i < 50; i += 1) fail("ann");
    refuse("bob");
    assert.deepEqual(getCounts(entries), [1, 1]);
    refusals.flush();
    assert.deepEqual(getCounts(entries), [1, 1, 49]);
    assert.deepEqual(entries[2]?.event, {
      ...{ action: "login.failed", user: "ann", credentials: "password", count: 49 },
    });
    refusals.flush();
    assert.equal(entries.length, 3);
  });

  it("has a bounded number of lines, however many users are named", () => {
    const { entries, refusals, fail, refuse } = createScene();
    for (let i = 0; i < 10_000; i += 1) {
      fail(`user ${i}`);
      refuse(`user ${i}`);
    }
    refusals.flush();
    assert.equal(entries.length, 102);
    const total = getCounts(entries).reduce<number>((sum, count) => sum + (count ?? 0), 0);
    assert.equal(total, 20_000);
    const others = entries.slice(-2).map(({ origin }) => origin.by);
    assert.deepEqual(others, ["(several)", "(several)"]);
  });

  it("writes nothing where the audit log is off", () => {
    const refusals = new RefusalAudit({
      on: false,
      record: () => assert.fail("recorded"),
      recordAll: () => assert.fail("recorded"),
    });
    refusals.record(
      { action: "login.failed", user: "ann", credentials: "key" },
      { via: "http", by: "", from: "" },
    );
    refusals.flush();
  });
});
