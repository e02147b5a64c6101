import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { foldCase } from "../../patterns/fold.ts";
import { testFolding } from "./fold-tests.ts";

// Latin, Greek, Cyrillic and Armenian.
testFolding(0x05_8f);

describe("folding the case of a text", () => {
  it("folds every character by itself", () => {
    assert.equal(foldCase("ΑΣ"), foldCase("Α") + foldCase("Σ"));
    assert.equal(foldCase("ODOS Σ"), foldCase("odos ς"));
    assert.notEqual(foldCase("STRASSE"), foldCase("straße"));
  });
});
