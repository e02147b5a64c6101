import type { FromSchema } from "json-schema-to-ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { RejectionError } from "@topicsync/lib/errors";
import { queryRules } from "../../../src/operations/framework/query.ts";
import { page, query, trueOrFalse } from "../../../schemas/query.ts";
import { text } from "../../../schemas/shapes.ts";

const schema = query("test-query", {
  limit: page(200, 50).limit,
  name: text(""),
  active: trueOrFalse(""),
});
const rules = queryRules<FromSchema<typeof schema>>(schema);

/** The faults of a query, as `PATH MESSAGE`. */
function listFaults(texts: Readonly<Record<string, unknown>>): string[] {
  try {
    rules.read(texts);
    return [];
  } catch (error) {
    assert.ok(error instanceof RejectionError);
    return error.details.map(({ path, message }) => `${path} ${message}`);
  }
}

describe("a query", () => {
  it("is converted as its schema requires, and has its defaults", () => {
    assert.deepEqual(
      { ...rules.read({ limit: "200", name: "7", active: "false" }) },
      {
        limit: 200,
        name: "7",
        active: false,
      },
    );
    assert.deepEqual({ ...rules.read({}) }, { limit: 50 });
  });

  it("has whole numbers in decimal digits only, in their range", () => {
    for (const limit of [
      "0",
      "201",
      "-1",
      "+1",
      "1.5",
      "1e2",
      "0x10",
      "007",
      " 5",
      "",
      "99999999999999999999",
    ])
      assert.deepEqual(listFaults({ limit }), ["/limit must be a whole number from 1 to 200"], limit);
  });

  it("has true and false in lower case only", () => {
    for (const active of ["TRUE", "1", "yes", ""])
      assert.deepEqual(listFaults({ active }), ["/active must be true or false"], active);
  });

  it("has each parameter once, and no others", () => {
    assert.deepEqual(listFaults({ limit: ["1", "2"], limits: "1" }).toSorted(), [
      "/limit must be an integer, but is an array",
      "/limits is not a known member; did you mean limit?",
    ]);
    const own = JSON.parse('{ "__proto__": "1" }') as Record<string, unknown>;
    assert.deepEqual(listFaults(own), ["/__proto__ is not a known member; known are limit, name, active"]);
  });
});
