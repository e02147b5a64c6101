import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { foldCase } from "../../patterns/fold.ts";

const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff;

/** `last`: the code point of the last character. */
export function testFolding(last: number): void {
  describe(`folding the case of the characters up to ${last.toString(16)}`, () => {
    it("makes two characters equal exactly if they are by Unicode's simple case folding", () => {
      // The oracle is V8's regular expressions: /…/iu compares by simple case folding (ECMA-262, 22.2.2.7.3).
      const byFold = new Map<string, string[]>();
      for (let code = 0; code <= last; code += 1) {
        if (isSurrogate(code)) continue;
        const character = String.fromCodePoint(code);
        const known = byFold.get(foldCase(character));
        if (known === undefined) byFold.set(foldCase(character), [character]);
        else known.push(character);
      }
      const escape = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
      let folded = 0;
      for (const [fold, characters] of byFold) {
        const candidates = new Set([
          ...characters,
          ...characters.flatMap((one) => [one.toLowerCase(), one.toUpperCase(), fold.toUpperCase()]),
        ]);
        const singles = [...candidates].filter((one) => Array.from(one).length === 1);
        if (singles.length < 2) continue;
        folded += 1;
        const equal = new RegExp(`^${escape(characters[0] ?? "")}$`, "iu");
        for (const one of singles)
          assert.equal(foldCase(one) === fold, equal.test(one), `${characters.join(" ")} and ${one}`);
      }
      assert.ok(folded > last / 1_000);
    });
  });
}
