import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FilterSyntaxError } from "@topicsync/filters";
import { formatCaret, formatFilterError } from "../../../../src/cli/output/caret.ts";

describe("the caret below a filter", () => {
  it("marks the error", () => {
    assert.deepEqual(formatCaret("ab&&c=1", 3), ["  ab&&c=1", "     ^"]);
    assert.deepEqual(formatCaret("", 0), ["  ", "  ^"]);
    assert.deepEqual(formatCaret("abc", 3), ["  abc", "     ^"]);
  });

  it("accounts for escaped, wide and combining characters", () => {
    const cases = ["a\tb!", "a\u0000\u001B[2Jb!", "漢字!", "e\u0301!", "😀!", "\u202Eab!"];
    for (const text of cases) {
      const [shown = "", caret = ""] = formatCaret(text, text.length - 1);
      const until = Array.from(shown.slice(0, shown.indexOf("!")));
      const wide = until.filter((one) => /[漢字😀]/u.test(one)).length;
      const marks = until.filter((one) => /\p{M}/u.test(one)).length;
      assert.equal(caret.length - 1, until.length + wide - marks, JSON.stringify(text));
      assert.doesNotMatch(shown, /[\p{Cc}\p{Cf}]/u);
    }
  });

  it("shows 70 columns around the error in a long filter", () => {
    const text = `${"a".repeat(100)}!${"b".repeat(100)}`;
    const [shown = "", caret = ""] = formatCaret(text, 100);
    assert.equal(shown, `  …${"a".repeat(35)}!${"b".repeat(34)}…`);
    assert.equal(caret.indexOf("^"), shown.indexOf("!"));
    const [atEnd, caretAtEnd] = formatCaret("a".repeat(100), 100);
    assert.deepEqual([atEnd, caretAtEnd], [`  …${"a".repeat(70)}`, `${" ".repeat(73)}^`]);
    const [atStart, caretAtStart] = formatCaret("a".repeat(100), 0);
    assert.deepEqual([atStart, caretAtStart], [`  ${"a".repeat(70)}…`, "  ^"]);
  });

  it("is followed by the problem, shortened", () => {
    const fault = new FilterSyntaxError(`has no operator after "${"x".repeat(8_000)}"; expected =`, 8_000);
    const [, , message = ""] = formatFilterError("x".repeat(8_000), fault);
    assert.ok(message.length < 300);
    assert.match(message, /^error: the filter has no operator after "x+…x+"; expected = \(character 8001\)$/);
  });
});
