import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { canonicalize } from "../../filter/canonical.ts";
import { FilterSyntaxError, limits } from "../../filter/filter.ts";
import { parseEvent } from "../../filter/numbers.ts";
import { parseFilter } from "../../filter/parse.ts";
import { describeFilter, printFilter } from "../../filter/to-text.ts";
import { readFilters } from "../../filter/topic-filters.ts";
import { explain } from "../../picker/explain.ts";
import { createPicker } from "../../picker/index.ts";

// Work inside of Node's own functions (regular expressions, conversions) shows in time only. So texts are
// made four times as long: what is linear then takes four times the CPU time, what is quadratic sixteen
// times. No duration is asserted, and other processes do not count.
const growth = 4;
const maxRatio = 8;
const maxRounds = 2;

// One character is repeated, between beginnings and ends of numbers, times, lists and escapes.
const characters = ["0", "9", "a", " ", "\t", ".", "-", "%", "%20", '"', "\ud800"];
const heads = ["", "1.", "2026-01-01T00:00:00.", "a,"];
const tails = ["", "1Z"];

const createTexts = (length: number): string[] =>
  characters.flatMap((character) =>
    heads.flatMap((head) =>
      tails.map(
        (tail) => head + character.repeat((length - head.length - tail.length) / character.length) + tail,
      ),
    ),
  );

/** Returns the CPU time of this thread in microseconds. Stops when it exceeds a limit. */
function measureCpu(texts: readonly string[], run: (text: string) => void, limit = Infinity): number {
  const start = process.threadCpuUsage();
  let used = 0;
  for (const text of texts) {
    run(text);
    const now = process.threadCpuUsage();
    used = now.user + now.system - start.user - start.system;
    if (used > limit) break;
  }
  return used;
}

/** Asserts that the time for all texts of a length is proportional to it. */
function assertLinear(maxLength: number, run: (text: string) => void): void {
  const [short, long] = [createTexts(maxLength / growth), createTexts(maxLength)];
  // The first round also compiles, and any may collect the garbage of earlier ones.
  const isLinear = Array.from({ length: maxRounds }, () => undefined).some(() => {
    const limit = maxRatio * measureCpu(short, run);
    return measureCpu(long, run, limit) <= limit;
  });
  assert.ok(isLinear, `${growth} times the length takes more than ${maxRatio} times as long`);
}

const manyA = "a".repeat(200);
const conditions = [
  "a>5",
  "a>=2026-01-01T00:00:00.5Z",
  "a<x",
  "a!=x",
  "a=x",
  "a=5.0",
  "a.exists=true",
  "a.eqi=X",
  ...["prefix", "suffix", "contains"].flatMap((operator) => [
    `a.${operator}=a,aa,aaa,${manyA}`,
    `a.${operator}=b${manyA},${manyA}b,00,0`,
  ]),
  `a.like=*${manyA}b*`,
  "a.like=*a?*a??b",
  "a.like=*0*0*0*1",
  "a.regex=(a+)+b",
  "a.regex=(a|aa)*(0|00)*$",
  "a.regex=^(.*)(.*)(.*)x$",
  "a.regex=a.{20}b",
];

describe("the time for long texts is proportional to their length", () => {
  it("in an event that is picked for", () => {
    const picker = createPicker();
    for (const [i, condition] of conditions.entries()) picker.set(`topic-${i}`, { headerQuery: condition });
    assertLinear(100_000, (text) => {
      picker.pick({ a: text });
      picker.pick({ a: [text, `${text}0`], [text]: 1 });
    });
  });

  it("in an event that is parsed", () => {
    assertLinear(400_000, (text) => {
      for (const json of [`{"a":${JSON.stringify(text)}}`, `{"a":${text}}`, `[${text}]`]) {
        try {
          parseEvent(json);
        } catch (error) {
          assert.ok(error instanceof SyntaxError, String(error));
        }
      }
    });
  });

  it("in an event that is explained", () => {
    const read = readFilters({ headerQuery: conditions.join("&") });
    assertLinear(100_000, (text) => {
      explain(read, { a: [text, [text]] });
    });
  });

  it("in a filter that is parsed, described and picked with", () => {
    const picker = createPicker();
    assertLinear(limits.characters - 2, (text) => {
      for (const filter of [
        text,
        `a>${text}`,
        `${text}=1`,
        `$header.${text}=1`,
        `a.like=${text}`,
        `a.regex=${text}`,
        `a.contains=${text}`,
      ]) {
        try {
          canonicalize(parseFilter(filter));
          describeFilter(parseFilter(filter));
          picker.set("topic", { contentQuery: filter });
        } catch (error) {
          assert.ok(error instanceof FilterSyntaxError, String(error));
        }
      }
    });
  });

  it("in a filter that is printed, however long its names and values are when they are decoded", () => {
    assertLinear(100_000, (text) => {
      printFilter({ conditions: [{ path: [text], operator: "gt", values: [text] }] });
    });
  });
});
