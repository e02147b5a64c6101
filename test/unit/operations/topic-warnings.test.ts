import assert from "node:assert/strict";
import { validateHeaderValue } from "node:http";
import { describe, it } from "node:test";

import { findWarningHeaders } from "../../../src/operations/topic-warnings.ts";
import type { EventTypeService } from "../../../src/event-types/service.ts";
import type { FilterWarning } from "../../../schemas/topics/check.ts";

const definition = { externalId: "a", name: "a", namespace: "", headerQuery: "", contentQuery: "b=1" };
const toWarning = (message: string): FilterWarning => ({
  ...{ code: "UNKNOWN_PATH", filter: "contentQuery", condition: "b=1", message, suggestions: [] },
});

/** The headers for a caller with these rights. */
const find = (findWarnings: EventTypeService["findWarnings"], roles = ["topics.read"]) =>
  findWarningHeaders({ eventTypes: { findWarnings } }, { name: "ann", roles, active: true }, definition);

describe("the warnings of a stored topic", () => {
  it("are headers of printable ASCII, few and short", async () => {
    const messages = ["line\r\nX-Injected: 1", "ö😀", "x".repeat(10_000), "a fourth"];
    const { "Topicsync-Warning": values = [] } = await find(() => Promise.resolve(messages.map(toWarning)));
    assert.ok(Array.isArray(values));
    assert.deepEqual(values.slice(0, 2), [
      "UNKNOWN_PATH contentQuery: line\\u{d}\\u{a}X-Injected: 1",
      "UNKNOWN_PATH contentQuery: \\u{f6}\\u{1f600}",
    ]);
    assert.equal(values.length, 3);
    for (const value of values) {
      validateHeaderValue("Topicsync-Warning", value);
      assert.ok(value.length <= 300);
    }
  });

  it("quote values only to who may read events, and are waited for at most a second", async () => {
    const asked: object[] = [];
    const ask: EventTypeService["findWarnings"] = (_filters, options) => {
      asked.push(options);
      return Promise.resolve([]);
    };
    await find(ask);
    await find(ask, ["topics.read", "dead-letters.read-content", "admin"]);
    assert.deepEqual(asked, [
      { showsValues: false, maxWaitMs: 1_000 },
      { showsValues: true, maxWaitMs: 1_000 },
    ]);
  });

  it("are not told to whom topic-check tells none, and prevent nothing", async () => {
    const one = () => Promise.resolve([toWarning("x")]);
    assert.deepEqual(await find(one, ["topics.write", "topics.read@a"]), {});
    assert.deepEqual(await find(() => Promise.resolve([])), {});
    assert.deepEqual(await find(() => Promise.reject(new Error("a fault"))), {});
  });
});
