import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { toExplanation } from "../../../../src/routing/explanation.ts";
import { readFilters } from "../../filter/topic-filters.ts";
import { explain } from "../../picker/explain.ts";
import { createCountingPicker } from "../../picker/picker.ts";

const since = "2026-03-01T00:00:00Z";

describe("a time in a filter", () => {
  it("is counted where it was compared with values that are no times, in keys and in checks", () => {
    const picker = createCountingPicker();
    picker.set("key", { headerQuery: `at>=${since}` });
    picker.set("check", { headerQuery: `kind=x&at<${since}` });
    const count = (event: object): number => {
      picker.pick(event);
      return picker.takeMissedTimes();
    };
    assert.equal(count({ kind: "x", at: "2026-03-01 10:00:00" }), 2);
    assert.equal(count({ kind: "x", at: ["soon", 7] }), 2);
    assert.equal(count({ kind: "y", at: "soon" }), 1);
    assert.equal(count({ kind: "x", at: "2026-03-01T10:00:00Z" }), 0);
    assert.equal(count({ kind: "x", at: ["soon", "2026-02-01"] }), 0);
    assert.equal(count({ kind: "x" }), 0);
    assert.equal(picker.takeMissedTimes(), 0);
  });

  it("is explained where the values are no times", () => {
    const conditions = readFilters({ headerQuery: `at>=${since}&b>5&c=1` });
    const notes = (event: object) =>
      toExplanation("a", explain(conditions, event)).conditions.map(({ note }) => note);
    const note = "not an RFC 3339 time, so it does not match";
    assert.deepEqual(notes({ at: "2026-03-01 10:00:00", b: "x", c: 2 }), [note, undefined, undefined]);
    assert.deepEqual(notes({ at: "2026-02-01", b: 6, c: 1 }), [undefined, undefined, undefined]);
    assert.deepEqual(notes({}), [undefined, undefined, undefined]);
  });
});
