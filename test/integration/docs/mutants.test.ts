/** The count of mutants in test/simulation/README.md is what the code and the kept results say. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

import { mutants } from "../../simulation/mutants/index.ts";
import { mutantPage, readResults, writeMutantCounts } from "../../simulation/mutants/table.ts";

describe("test/simulation/README.md", () => {
  it("has a result of each mutant, and of no other", () => {
    const expected = mutants.filter(({ isEquivalent }) => isEquivalent === undefined).map(({ name }) => name);
    assert.deepEqual(
      Object.keys(readResults()),
      expected,
      "run `npm run simulate -- --mutants WORD --record` for the mutants that have no result",
    );
  });

  it("has the current counts", () => {
    const page = readFileSync(mutantPage, "utf8");
    assert.equal(page, writeMutantCounts(page), "they are out of date; run `npm run docs`");
  });
});
