import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";

import { pino } from "pino";
import { RE2JS } from "re2js";

import { limits } from "../../filter/filter.ts";
import { PatternBudget } from "../../patterns/pattern-budget.ts";
import { compileRegex } from "../../patterns/regex.ts";
import { findFilterFaults } from "../../filter/topic-filters.ts";
import { createPicker, parseFilter } from "../../picker/index.ts";
import { createTopicIndex } from "../../../../src/topics/live/topic-index.ts";

/** Runs a function. Returns the number of instructions that were compiled. */
function countInstructions(run: () => unknown): number {
  const compile = mock.method(RE2JS, "compile");
  try {
    run();
    return compile.mock.calls.reduce((sum, { result }) => sum + (result?.programSize() ?? 0), 0);
  } finally {
    compile.mock.restore();
  }
}

/** Hundreds of patterns, each half as large as allowed, as short as possible. `mark`: no two are the same. */
const createLargest = (mark: string): string =>
  Array.from({ length: 100 }, (_, i) => `p.q${i}=~${mark}${i}x{990}`).join("&");

describe("the patterns of a topic", () => {
  it("are compiled within its budget, however many there are", () => {
    const topic = { headerQuery: createLargest("a"), contentQuery: createLargest("b") };
    const spent = countInstructions(() => {
      const faults = findFilterFaults(topic);
      assert.deepEqual(
        faults.map(({ path }) => path),
        ["/headerQuery", "/contentQuery"],
      );
      assert.match(
        faults[0]?.message ?? "",
        /those of a topic have \d+ instructions; at most 2000 are allowed/,
      );
    });
    assert.ok(spent > 0 && spent <= 3 * limits.instructions, `${spent} instructions`);
  });

  it("share the budget between both filters", () => {
    const half = "a=~y{990}z{410}";
    assert.deepEqual(findFilterFaults({ headerQuery: half }), []);
    assert.deepEqual(
      findFilterFaults({ headerQuery: half, contentQuery: half }).map(({ path }) => path),
      ["/contentQuery"],
    );
  });

  it("allow what people write: twenty of the usual ones, or a large one", () => {
    const usual = Array.from(
      { length: 20 },
      (_, i) => `a${i}=~^(?:core|edge)-[a-z]{2,8}\\d{1,4}(?:\\.net)?$`,
    );
    assert.deepEqual(findFilterFaults({ headerQuery: usual.join("&") }), []);
    assert.deepEqual(findFilterFaults({ headerQuery: "a=~(?:[0-9a-f]{4}-){190}" }), []);
    assert.deepEqual(findFilterFaults({ headerQuery: "a=~\\x{41}{900}|\\p{Greek}{900}" }), []);
    const searches = Array.from({ length: 200 }, (_, i) => `core-*-${i}`).join();
    assert.deepEqual(findFilterFaults({ headerQuery: `a.like=${searches}` }), []);
  });

  it("count wildcards that need a program", () => {
    const patterns = Array.from({ length: 30 }, (_, i) => `?${"x".repeat(98)}${i % 10}`).join();
    assert.match(findFilterFaults({ headerQuery: `a.like=${patterns}` })[0]?.message ?? "", /instructions/);
  });

  it("are rejected without being compiled if repetitions multiply, or follow one another", () => {
    for (const pattern of ["((a{50}){50}){50}", "x{1000}".repeat(36), "(?:(?:a{10}){10}b{1000}){90}"]) {
      let message = "";
      const spent = countInstructions(() => {
        try {
          compileRegex(pattern);
        } catch (error) {
          message = error instanceof Error ? error.message : "";
        }
      });
      assert.match(message, /too many repetitions/, pattern);
      assert.equal(spent, 0, pattern);
    }
  });

  it("are compiled again only when an event asks", () => {
    const headerQuery = "a=~^lazy{500}x&b.like=q??r";
    parseFilter(headerQuery);
    const picker = createPicker();
    assert.equal(
      countInstructions(() => {
        picker.set("topic", { headerQuery });
      }),
      0,
    );
    const spent = countInstructions(() => picker.pick({ a: "lazy", b: "q12r" }));
    assert.ok(spent > 0);
    assert.equal(
      countInstructions(() => picker.pick({ a: "laz", b: "q12r" })),
      0,
    );
  });

  it("of a stored topic are unreadable beyond the budget, and the others are matched", () => {
    const index = createTopicIndex(pino({ level: "silent" }));
    const topic = { namespace: "", contentQuery: "" };
    const spent = countInstructions(() => {
      index.set({ ...topic, externalId: "large", headerQuery: createLargest("c") });
    });
    index.set({ ...topic, externalId: "usual", headerQuery: "a=1" });
    assert.ok(spent <= 2 * limits.instructions, `${spent} instructions`);
    assert.deepEqual(index.status(), { topics: 1, unconditional: 0, unreadable: 1 });
    assert.deepEqual(index.picker.pick({ a: 1 }), ["usual"]);
  });
});

describe("the patterns of a request", () => {
  it("share a budget, which a fault names", () => {
    const request = PatternBudget.forRequest();
    const topics = Array.from({ length: 300 }, (_, i) => ({ headerQuery: `a=~r${i}x{990}` }));
    const spent = countInstructions(() => {
      const faults = topics.map((topic) => findFilterFaults(topic, request));
      const first = faults.findIndex((found) => found.length > 0);
      assert.ok(first > 20, `the topic ${first} is the first that is rejected`);
      assert.match(faults[first]?.[0]?.message ?? "", /those of a request have/);
    });
    assert.ok(spent > 0);
  });
});
