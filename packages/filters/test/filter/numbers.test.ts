import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { compareNumbers, LongNumber, parseEvent, parseNumber, printNumber } from "../../filter/numbers.ts";
import { compareFractions } from "./model.ts";

/** Numbers that are close to each other, of any length and notation. */
const number = fc
  .record({
    sign: fc.constantFrom("", "-"),
    integer: fc.constantFrom("0", "1", "10", "9007199254740992", "9007199254740993", "89860012345678901234"),
    fraction: fc.constantFrom(
      "",
      ".0",
      ".5",
      ".1",
      ".10000000000000001",
      ".1000000000000000055511151231257827",
    ),
    exponent: fc.constantFrom("", "e0", "E1", "e-1", "e+2", "e15", "e-15", "e30", "e-30", "e310", "e-330"),
  })
  .map(({ sign, integer, fraction, exponent }) => sign + integer + fraction + exponent);

const parse = (text: string) => {
  const parsed = parseNumber(text);
  assert.ok(parsed !== undefined, text);
  return parsed;
};

describe("a number", () => {
  it("is compared exactly, whatever its notation", () => {
    fc.assert(
      fc.property(number, number, (one, other) => {
        const expected = compareFractions(one, other);
        assert.equal(Math.sign(compareNumbers(parse(one), parse(other))), expected);
        assert.equal(printNumber(parse(one)) === printNumber(parse(other)), expected === 0);
      }),
      { numRuns: 10_000 },
    );
  });

  it("prints as JavaScript does if a double is exact, and is the same number when it is parsed again", () => {
    fc.assert(
      fc.property(
        fc.oneof(number, fc.double({ noNaN: true, noDefaultInfinity: true }).map(String)),
        (text) => {
          const printed = printNumber(parse(text));
          assert.equal(compareFractions(printed, text), 0);
          assert.equal(printNumber(parse(printed)), printed);
          if (compareFractions(String(Number(text)), text) === 0) assert.equal(printed, String(Number(text)));
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it("is what JSON says", () => {
    for (const text of ["", "-", "01", "1.", ".5", "1e", "+1", "0x1", "1 ", "Infinity", "NaN", "1_000", "٣"])
      assert.equal(parseNumber(text), undefined, text);
  });

  it("is not a number if its exponent has too many digits to compare", () => {
    assert.equal(parseNumber(`1e${"9".repeat(20)}`), undefined);
    assert.equal(parseNumber("0e99999999999999999999"), 0);
  });
});

describe("an event", () => {
  it("keeps numbers that a double would change, wherever they are", () => {
    fc.assert(
      fc.property(fc.array(number, { minLength: 1, maxLength: 5 }), fc.boolean(), (numbers, spaced) => {
        const space = spaced ? " \n" : "";
        const json = `{"a":${space}${numbers[0]},"b":[${numbers.join(`${space},${space}`)}],"c":"x, ${numbers[0]}"}`;
        const { a, b, c } = parseEvent(json) as { a: unknown; b: unknown[]; c: string };
        assert.equal(c, `x, ${numbers[0]}`);
        for (const [at, value] of [a, ...b].entries()) {
          const source = numbers[Math.max(0, at - 1)] ?? "";
          const isExact = compareFractions(String(Number(source)), source) === 0;
          assert.equal(value instanceof LongNumber, !isExact);
          const text = value instanceof LongNumber ? value.text : String(value);
          assert.equal(compareFractions(text, source), 0);
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it("is parsed as JSON.parse does otherwise", () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        assert.deepEqual(parseEvent(json), JSON.parse(json));
      }),
    );
    assert.throws(() => parseEvent("{"), SyntaxError);
    assert.ok(parseEvent("12345678901234567890123") instanceof LongNumber);
    assert.deepEqual(Object.keys(parseEvent('{"__proto__":1e400}') as object), ["__proto__"]);
  });

  it("is parsed once if a double holds all of its numbers", (t) => {
    const parse = t.mock.method(JSON, "parse");
    parseEvent('{"iccid":"89860012345678901234","at":1700000000000000,"price":0.30000000000000004}');
    assert.equal(parse.mock.callCount(), 1);
  });
});
