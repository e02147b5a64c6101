import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

import { FilterSyntaxError, limits } from "../../filter/filter.ts";
import { parseEvent } from "../../filter/numbers.ts";
import { parseFilter } from "../../filter/parse.ts";
import type { EventRecord } from "../../filter/record.ts";
import { matches, readFilters, type FilterTexts } from "../../filter/topic-filters.ts";
import { createPicker } from "../../picker/index.ts";

interface Example extends FilterTexts {
  readonly rule: string;
  readonly event: unknown;
  readonly record?: EventRecord;
  readonly match: boolean;
}

/** Parsed without loss: numbers are among the rules. */
const examples = parseEvent(
  readFileSync(new URL("../../../../examples/filters.json", import.meta.url), "utf8"),
) as {
  readonly matching: readonly Example[];
  readonly rejected: readonly { readonly filter: string; readonly position: number; readonly says: string }[];
};

describe("the examples of filters", () => {
  for (const { rule, event, record, match, ...filters } of examples.matching) {
    it(`${rule}: ${JSON.stringify(filters)} ${match ? "matches" : "does not match"}`, () => {
      assert.equal(matches(readFilters(filters), event, record), match);
      const picker = createPicker();
      picker.set("topic", filters);
      assert.deepEqual(picker.pick(event, record), match ? ["topic"] : []);
    });
  }
  for (const { filter, position, says } of examples.rejected) {
    it(`${JSON.stringify(filter)} is rejected at ${position}: ${says}`, () => {
      const error = getRejection(filter);
      assert.equal(error.position, position);
      assert.ok(error.problem.includes(says), error.problem);
    });
  }
});

describe("the limits of filters", () => {
  const repeat = (count: number, part: (i: number) => string, separator: string): string =>
    Array.from({ length: count }, (_, i) => part(i)).join(separator);
  const cases: readonly (readonly [string, (size: number) => string, number])[] = [
    ["characters", (size) => `a=${"x".repeat(size - 2)}`, limits.characters],
    ["conditions", (size) => repeat(size, (i) => `a${i}=1`, "&"), limits.conditions],
    ["values", (size) => `a=${repeat(size, String, ",")}`, limits.values],
    ["values of several conditions", (size) => `a=1&b=${repeat(size - 1, String, ",")}`, limits.values],
    ["names in a path", (size) => `${repeat(size, () => "a", ".")}=1`, limits.depth],
  ];
  for (const [what, filter, limit] of cases) {
    it(`allow ${limit} ${what}, and reject one more`, () => {
      parseFilter(filter(limit));
      assert.ok(getRejection(filter(limit + 1)).problem.includes(String(limit)));
    });
  }
});

function getRejection(filter: string): FilterSyntaxError {
  try {
    parseFilter(filter);
  } catch (error) {
    assert.ok(error instanceof FilterSyntaxError);
    return error;
  }
  assert.fail(`${JSON.stringify(filter)} was accepted`);
}
