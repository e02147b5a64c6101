import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { createRegexSample } from "../../patterns/regex-sample.ts";
import { compileRegex } from "../../patterns/regex.ts";

describe("a sample of a regular expression", () => {
  it("matches the usual ones", () => {
    for (const pattern of [
      "Al.*",
      "^(Critical|Major)$",
      "^[A-Z]{2}-\\d{4,6}$",
      "(?i)^net(work)?[._-]down$",
      "^(?:a|b)+c*?d{2}$",
      "^(?P<year>\\d+)/(?<month>\\d+)$",
      "^\\w+@\\w+\\.(com|org)$",
      "^[[:alpha:]_][[:digit:]]\\s\\S\\D\\W$",
      "^[]x]\\]\\Qa.b\\E\\x41\\x{1F600}\\t$",
      "^[^a]\\pL\\p{Lu}?$",
      "^(?i:x)(?i)y\\b",
      "^$",
      "😀",
    ]) {
      const text = createRegexSample(pattern);
      assert.ok(compileRegex(pattern).test(text), `${pattern}: ${JSON.stringify(text)}`);
    }
  });

  it("is created for every expression that a filter may have", () => {
    const pieces = fc.constantFrom(
      ..."a ( ) (?: (?i) (?P<n> [ [^ [: ] :] - | * + ? {2} {1,} {0,3} . ^ $ \\ \\d \\Q \\E \\x41 \\x{ } \\pL".split(
        " ",
      ),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (all) => {
        const pattern = all.join("");
        try {
          compileRegex(pattern);
        } catch {
          return;
        }
        assert.equal(typeof createRegexSample(pattern), "string");
      }),
      { numRuns: 5_000 },
    );
  });
});
