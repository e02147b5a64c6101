import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Operator } from "../../filter/filter.ts";
import type * as implication from "../../implication/implication.ts";
import { countSteps, startCountingSteps, stopCountingSteps } from "../count-steps.ts";

/** Steps for each character of the values. */
const maxStepsPerUnit = 100;
const baseSteps = 2_000;

let { implies, TopicConditions } = {} as typeof implication;
before(async () => {
  await startCountingSteps();
  ({ implies, TopicConditions } = await import("../../implication/implication.ts"));
});
after(stopCountingSteps);

type CreateText = (number: number) => string;

interface Side {
  readonly operator: Operator;
  readonly count: number;
  readonly createText: CreateText;
}

/** Compares two conditions with many values. */
async function compareWithinBound(...sides: readonly [Side, Side]): Promise<void> {
  const all = sides.map(({ operator, count, createText }) => ({
    path: ["a"],
    operator,
    values: Array.from({ length: count }, (_, number) => createText(number)),
    member: "headerQuery" as const,
  }));
  const [one, other] = all.map((condition) => new TopicConditions([condition]));
  assert.ok(one !== undefined && other !== undefined);
  const { steps } = await countSteps(() => {
    implies(one, other);
    one.isDisjoint(other);
    one.createWitness({ fromEnd: true });
  });
  const units = all.reduce((sum, { values }) => sum + values.join().length, 0);
  assert.ok(steps > 0, "no steps were counted");
  const operators = all.map(({ operator }) => operator).join(" and ");
  assert.ok(steps <= baseSteps + maxStepsPerUnit * units, `${steps} steps for ${units} units, ${operators}`);
}

const createEven: CreateText = (number) => `v${2 * number}`;
const createAny: CreateText = (number) => `v${number}`;
const createNumber: CreateText = (number) => `${number}.0`;
const createNested: CreateText = (number) => "a".repeat(1 + (number % 20));

describe("the work for an implication", () => {
  const indexed = ["eq", "ne", "prefix", "suffix", "contains", "eqi"] as const;
  const texts = [
    [createEven, createAny],
    [createNumber, createNumber],
    [createNested, createNested],
  ] as const;
  for (const one of indexed)
    it(`is in proportion to the values of .${one}`, async () => {
      const count = 10_000;
      for (const other of indexed)
        for (const [left, right] of texts)
          await compareWithinBound(
            { operator: one, count, createText: left },
            { operator: other, count, createText: right },
          );
    });

  it("does not test all values with all wildcards and regular expressions", async () => {
    for (const operator of ["like", "regex"] as const) {
      const count = operator === "like" ? 200 : 1;
      for (const createText of [(number: number) => `v?${number}*x`, (number: number) => `v*${number}`])
        for (const other of ["eq", "ne", "contains", "like"] as const) {
          const sides = [
            { operator, count, createText },
            { operator: other, count: other === "like" ? 200 : 10_000, createText: createAny },
          ] as const;
          await compareWithinBound(...sides);
          await compareWithinBound(sides[1], sides[0]);
        }
    }
  });
});
