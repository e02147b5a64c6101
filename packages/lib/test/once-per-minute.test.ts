import assert from "node:assert/strict";
import { it, mock } from "node:test";

import { oncePerMinute } from "../concurrency/once-per-minute.ts";

it("reports the first occurrence immediately, and the number of later ones a minute later", () => {
  let now = 1_000;
  mock.method(performance, "now", () => now);
  const reports: [number, string][] = [];
  const occur = oncePerMinute((occurrences, what: string) => reports.push([occurrences, what]));
  occur("a");
  occur("b");
  now += 60_000;
  occur("c");
  assert.deepEqual(reports, [
    [1, "a"],
    [2, "c"],
  ]);
});
