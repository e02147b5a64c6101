import assert from "node:assert/strict";
import { validateHeaderValue } from "node:http";
import { describe, it } from "node:test";

import { findWarningHeaders } from "../../../../http/routes/topic-warnings.ts";
import type { FilterWarning } from "../../../../schemas/topic-check.ts";

const definition = { externalId: "a", name: "a", namespace: "", headerQuery: "", contentQuery: "b=1" };
const toWarning = (message: string): FilterWarning => ({
  ...{ code: "UNKNOWN_PATH", filter: "contentQuery", condition: "b=1", message, suggestions: [] },
});

/** The headers for a caller with these rights. */
const find = (warnings: () => Promise<FilterWarning[]>, roles = ["topics.read"]) =>
  findWarningHeaders({ findWarnings: warnings }, { name: "ann", roles, active: true }, definition);

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

  it("are not told to whom topic-check tells none, and prevent nothing", async () => {
    const one = () => Promise.resolve([toWarning("x")]);
    assert.deepEqual(await find(one, ["topics.write", "topics.read@a"]), {});
    assert.deepEqual(await find(() => Promise.resolve([])), {});
    assert.deepEqual(await find(() => Promise.reject(new Error("the database is away"))), {});
  });
});
