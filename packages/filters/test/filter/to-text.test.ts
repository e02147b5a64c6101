import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { parseFilter } from "../../filter/parse.ts";
import { describeFilter } from "../../filter/to-text.ts";

const describeText = (text: string) => describeFilter(parseFilter(text));
const toConditions = (text: string) => describeText(text).conditions;

describe("a filter in words", () => {
  it("describes equality, with alternatives", () => {
    assert.deepEqual(toConditions("a=1"), ["a is 1"]);
    assert.deepEqual(toConditions("troubleTicket.severity=Critical,Major"), [
      'troubleTicket.severity is "Critical" or "Major"',
    ]);
    assert.deepEqual(toConditions("a=1,2,3"), ["a is 1, 2 or 3"]);
  });

  it("joins repeated equalities of one name into one condition, since they are OR", () => {
    assert.deepEqual(toConditions("a=1&b=2&a=3"), ["a is 1 or 3", "b is 2"]);
  });

  it("omits the prefix event. in a contentQuery", () => {
    const said = describeFilter(parseFilter("x=1&event.x=2&event.event.y=3", "contentQuery")).conditions;
    assert.deepEqual(said, ["x is 1 or 2", "event.event.y is 3"]);
    assert.deepEqual(toConditions("x=1&event.x=2"), ["x is 1", "event.x is 2"]);
  });

  it("says that a member must exist to differ", () => {
    assert.deepEqual(toConditions("a!=1"), ["a is not 1 (and is present)"]);
    assert.deepEqual(toConditions("a.ne=1,2"), ["a is none of 1, 2 (and is present)"]);
  });

  it("describes each comparison, by its sign or suffix", () => {
    assert.deepEqual(toConditions("a>1&b>=1&c<1&d<=1"), [
      "a is greater than 1",
      "b is at least 1",
      "c is less than 1",
      "d is at most 1",
    ]);
    assert.deepEqual(toConditions("a.gt=1&b.gte=1&c.lt=1&d.lte=1"), toConditions("a>1&b>=1&c<1&d<=1"));
  });

  it("quotes names that look like several, and all values but numbers and booleans", () => {
    assert.deepEqual(toConditions("a%2Eb.c=x y,or,%2C"), ['"a.b".c is "x y", "or" or ","']);
    assert.deepEqual(toConditions("a=%22,%0A"), ['a is "\\"" or "\\n"']);
    assert.deepEqual(toConditions("a.eq=null,1.0,true"), ['a is "null", 1.0 or true']);
  });

  it("has no conditions for an empty filter", () => {
    assert.deepEqual(describeText(" "), { conditions: [], notes: [] });
  });

  it("notes how a value is compared: as a number, an instant or a string", () => {
    const [number, instant, text, list] = describeText("a>3&b<2026-01-01T00:00:00Z&c>=high").notes;
    assert.match(number ?? "", /Numbers compare with 3 as numbers/);
    assert.match(instant ?? "", /Only RFC 3339 times compare with "2026-01-01T00:00:00Z", as instants/);
    assert.match(text ?? "", /compares with "high" as strings/);
    assert.match(list ?? "", /^A list matches/);
  });
});
