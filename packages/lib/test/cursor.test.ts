import assert from "node:assert/strict";
import { describe, test } from "node:test";

import fc from "fast-check";

import { createCursorFormat } from "../cursor.ts";
import { RejectionError } from "../errors.ts";

const format = createCursorFormat("things", ["string", "integer", "date"]);

const isRejected = (error: unknown): boolean =>
  error instanceof RejectionError &&
  error.code === "SCHEMA_VIOLATION" &&
  error.details[0]?.path === "/after" &&
  error.details[0].message === "is not a cursor of this list";

describe("cursors", () => {
  test("decode to the encoded values", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }).filter((text) => text.isWellFormed()),
        fc.maxSafeInteger(),
        fc.date({ noInvalidDate: true }),
        (text, number, date) => {
          const cursor = format.encode([text, number, date]);
          assert.match(cursor, /^[\w-]+$/);
          assert.deepEqual(format.decode(cursor), [text, Object.is(number, -0) ? 0 : number, date]);
        },
      ),
    );
  });

  test("are rejected for another list, order or version", () => {
    const values = ["a", 1, new Date(0)] as const;
    assert.throws(() => format.decode(createCursorFormat("others", ["string"]).encode(["a"])), isRejected);
    assert.throws(
      () => format.decode(createCursorFormat("others", ["string", "integer", "date"]).encode(values)),
      isRejected,
    );
    const other = Buffer.from(JSON.stringify([2, "things", ...values])).toString("base64url");
    assert.throws(() => format.decode(other), isRejected);
  });

  const encode = (parts: unknown): string => Buffer.from(JSON.stringify(parts)).toString("base64url");
  for (const [what, cursor] of [
    ["the empty text", ""],
    ["text that is not base64url", "%%%"],
    ["base64url that is not JSON", "abcd"],
    ["JSON that is not an array", encode({ list: "things" })],
    ["too few values", encode([1, "things", "a", 1])],
    ["too many values", encode([1, "things", "a", 1, "1970-01-01T00:00:00.000Z", "b"])],
    ["a value of another type", encode([1, "things", "a", "1", "1970-01-01T00:00:00.000Z"])],
    ["a value that is not a date", encode([1, "things", "a", 1, "yesterday"])],
    ["a number that is not an integer", encode([1, "things", "a", 1.5, "1970-01-01T00:00:00.000Z"])],
    ["a padded cursor", `${format.encode(["a", 1, new Date(0)])}==`],
  ] as const) {
    test(`are rejected if invalid: ${what}`, () => {
      assert.throws(() => format.decode(cursor), isRejected);
    });
  }
});
