import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { Numbering } from "../../filter/numbering.ts";

describe("the numbers of texts", () => {
  it("are the same while a text is in use, and of one text only", () => {
    const text = fc.oneof(
      fc.constantFrom("", "a", "b", "ab", "ba", "customer1", "customer2", "\u{ff}", "\u{100}", "\u{d800}"),
      fc.string({ unit: "binary", maxLength: 5 }),
      fc.string({ maxLength: 100 }),
    );
    const steps = fc.array(fc.record({ text, isReleased: fc.boolean() }), { maxLength: 200 });
    fc.assert(
      fc.property(steps, fc.array(text), (all, others) => {
        const numbering = new Numbering();
        const known = new Map<string, { number: number; uses: number }>();
        for (const { text: one, isReleased } of all) {
          const entry = known.get(one);
          if (!isReleased) {
            const { number, isNew } = numbering.acquire(one);
            assert.equal(isNew, entry === undefined);
            assert.ok(number > 0 && (entry === undefined || entry.number === number));
            known.set(one, { number, uses: (entry?.uses ?? 0) + 1 });
          } else if (entry !== undefined) {
            assert.equal(numbering.release(entry.number), entry.uses === 1 ? one : undefined);
            if (entry.uses === 1) known.delete(one);
            else known.set(one, { ...entry, uses: entry.uses - 1 });
          }
        }
        assert.equal(numbering.size, known.size);
        assert.equal(new Set([...known.values()].map(({ number }) => number)).size, known.size);
        for (const one of [...known.keys(), ...others])
          assert.equal(numbering.find(one), known.get(one)?.number ?? 0);
      }),
      { numRuns: 500 },
    );
  });

  it("are found after thousands of texts came and went", () => {
    const numbering = new Numbering();
    const toText = (i: number): string => (i % 100 === 0 ? `\u{1f600}${i}` : `text ${i}`);
    const numbers: number[] = [];
    for (let i = 0; i < 10_000; i += 1) {
      numbers.push(numbering.acquire(toText(i)).number);
      const gone = i - 50;
      if (gone >= 0 && gone % 3 !== 0) assert.equal(numbering.release(numbers[gone] ?? 0), toText(gone));
    }
    for (let i = 0; i < 9_950; i += 1)
      assert.equal(numbering.find(toText(i)), i % 3 === 0 ? numbers[i] : 0, toText(i));
  });

  it("are given back with texts of any length", () => {
    const numbering = new Numbering();
    for (const length of [0, 1, 999, 1_000, 1_001, 8_000])
      for (const character of ["a", "\u{4e2d}"]) {
        const text = character.repeat(length);
        assert.equal(numbering.release(numbering.acquire(text).number), text);
        assert.equal(numbering.find(text), 0);
      }
  });
});
