import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { publishSchema, getSchemaName } from "../published-schema.ts";

describe("a published schema", () => {
  it("replaces custom keywords by standard ones", () => {
    assert.deepEqual(
      publishSchema({
        $id: "some-thing",
        type: "object",
        properties: {
          text: { type: "string", format: "text", minLength: 1 },
          number: { type: "string", pattern: "^[0-9]+$", expected: "a number", description: "How many." },
        },
        anyOf: [{ items: { expected: "a text" } }],
      }),
      {
        type: "object",
        properties: {
          text: { type: "string", pattern: "^[^\\u0000]*$", minLength: 1 },
          number: { type: "string", pattern: "^[0-9]+$", description: "How many. Must be a number." },
        },
        anyOf: [{ items: { description: "Must be a text." } }],
      },
    );
  });

  it("keeps members and values named like custom keywords", () => {
    const schema = {
      properties: { format: { type: "string" }, expected: { const: { format: "text", $id: "x" } } },
      examples: [{ format: "text", expected: "x", $id: "y" }],
    };
    assert.deepEqual(publishSchema(schema), schema);
  });

  it("is named after its $id, and needs one", () => {
    assert.equal(getSchemaName({ $id: "tmf688-deleted-topic" }), "Tmf688DeletedTopic");
    assert.throws(() => getSchemaName({}), /needs an \$id/);
  });
});
