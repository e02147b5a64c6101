import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import fc from "fast-check";

import { findJava } from "@topicsync/embedded";
import { createTest, toIndexedPattern } from "../../patterns/patterns.ts";
import { createPicker } from "../../picker/index.ts";
import { chooseSeed } from "../../../../test/support/random.ts";

const letters = ["a", "b", "c", "B", "1", "_", " ", "-", "é"];

/** What RE2 and Java's Pattern understand in the same way. */
const patterns = fc.letrec<{ all: string; one: string }>((tie) => ({
  one: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(
      ...letters,
      ".",
      "[ab]",
      "[^a]",
      "[b-c1]",
      String.raw`\d`,
      String.raw`\w`,
      String.raw`\W`,
    ),
    fc.constantFrom("^", "$", String.raw`\.`, "(?i:ab)", String.raw`a{2}`, "b{1,2}", "c{2,}"),
    tie("all").map((inner) => `(?:${inner})`),
    fc
      .tuple(tie("all"), fc.constantFrom("*", "+", "?", "*?", "+?", "??", "{0,2}"))
      .map(([inner, repetition]) => `(${inner})${repetition}`),
    fc.tuple(tie("all"), tie("all")).map(([one, other]) => `(${one}|${other})`),
  ),
  all: fc.array(tie("one"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
})).all;
const texts = fc.string({ unit: fc.constantFrom(...letters), maxLength: 10 });

/** Asks Java whether each text has a part that its pattern matches. */
async function askJava(cases: readonly (readonly [pattern: string, text: string])[]): Promise<boolean[]> {
  const java = await findJava();
  const program = ["-XX:TieredStopAtLevel=1", join(import.meta.dirname, "Patterns.java")];
  const child = spawn(java.command, program, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(cases.map(([pattern, given]) => `${pattern}\t${given}\n`).join(""));
  return (await text(child.stdout))
    .trimEnd()
    .split("\n")
    .map((line) => line === "true");
}

describe("regular expressions compared with Java's", () => {
  it("match the same texts", async () => {
    const { seed, hint } = chooseSeed("PATTERNS_SEED");
    const cases = fc
      .sample(fc.tuple(patterns, texts), { seed, numRuns: 10_000 })
      .filter(([pattern]) => pattern.length <= 200);
    const expected = await askJava(cases);
    assert.equal(expected.length, cases.length);
    const different = cases.filter(([pattern, given], at) => {
      const picker = createPicker();
      picker.set("one", { headerQuery: `a.regex=${encodeURIComponent(pattern)}` });
      return (picker.pick({ a: given }).length === 1) !== expected[at];
    });
    assert.deepEqual(different.slice(0, 5), [], hint);
    // A text that an expression matches has what the index looks for.
    for (const [pattern, given] of cases.filter((_, at) => expected[at])) {
      const required = toIndexedPattern("regex", pattern);
      if (required !== undefined)
        assert.ok(createTest(required.operator, required.value)(given), `${pattern} (${hint})`);
    }
    const matching = expected.filter(Boolean).length;
    assert.ok(
      matching > 1_000 && matching < cases.length - 1_000,
      `${matching} of ${cases.length} match (${hint})`,
    );
  });
});
