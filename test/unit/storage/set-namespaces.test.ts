import assert from "node:assert/strict";
import { test } from "node:test";

import { addApply } from "../../../src/storage/topics/sets.ts";

const write = (namespaces: readonly string[]) => ({
  ...{ set: "tickets", origin: undefined, on: new Date(), namespaces, applied: 1 },
  ...{ details: [], removedDetails: [], replacedDetails: [] },
  apply: { plan: "0123", by: "ann", total: 1 },
});

test("a set has topics in at most 1,000 namespaces, those of its former topics included", () => {
  const many = Array.from({ length: 999 }, (_, at) => `n${at}`);
  const stored = addApply(addApply(null, write(many)), write(["n0", "one more"]));
  assert.equal(stored.namespace.length, 1_000);
  assert.throws(() => addApply(stored, write(["another"])), {
    code: "SCHEMA_VIOLATION",
    message: /The set "tickets" would have topics in 1001 namespaces\. At most 1000 are allowed/,
  });
});
