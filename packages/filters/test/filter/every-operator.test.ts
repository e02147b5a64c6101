import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Condition } from "../../filter/filter.ts";
import { printFilter } from "../../filter/to-text.ts";
import { matches, readFilters } from "../../filter/topic-filters.ts";
import { explain } from "../../picker/explain.ts";
import { createPicker } from "../../picker/index.ts";
import { everyCondition, everyEvent } from "./every-operator.ts";
import { satisfiesAll } from "./model.ts";

/** Each condition alone, and some with another one about the same path. */
const filters: readonly (readonly Condition[])[] = everyCondition.flatMap((one, at) => [
  [one],
  ...(at % 3 === 0 ? [[one, ...everyCondition.slice((7 * at + 3) % everyCondition.length).slice(0, 1)]] : []),
]);

describe("every operator with every value", () => {
  const texts = filters.map((conditions) => printFilter({ conditions }));
  const picker = createPicker();
  for (const [at, headerQuery] of texts.entries()) picker.set(String(at), { headerQuery });

  it("means what the model says, evaluated one by one, explained and picked for", () => {
    const read = texts.map((headerQuery) => readFilters({ headerQuery }));
    for (const event of [...everyEvent, [{ a: "x" }], "x", null]) {
      const picked = new Set(picker.pick(event));
      for (const [at, conditions] of read.entries()) {
        const expected = satisfiesAll(conditions, event);
        const found = {
          matched: matches(conditions, event),
          picked: picked.has(String(at)),
          explained: explain(conditions, event).every(({ held }) => held),
        };
        if (Object.values(found).some((one) => one !== expected))
          assert.fail(`${texts[at]} and ${JSON.stringify(event)}: ${expected}, not ${JSON.stringify(found)}`);
      }
    }
  });
});
