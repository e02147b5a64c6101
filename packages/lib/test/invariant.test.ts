import assert from "node:assert/strict";
import { it } from "node:test";

import { invariant, InvariantError } from "../invariant.ts";

it("an invariant that does not hold throws an error that names the rule", () => {
  invariant(true, "one and one are two");
  assert.throws(
    () => {
      invariant(false, "one and one are three");
    },
    (error) => error instanceof InvariantError && error.message.endsWith("one and one are three"),
  );
});
