import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { operations } from "../../../../docs/contracts.ts";
import { allowsNull, removeNullMembers } from "../../../../http/framework/null-members.ts";
import { cloudEventSchema } from "../../../../schemas/cloud-event.ts";
import { eventRecordSchema, eventSchema } from "../../../../schemas/pick.ts";
import { pushFeedbackSchema } from "../../../../schemas/push-feedback.ts";
import {
  definedTopicSchema,
  deletedTopicSchema,
  topicNotificationSchema,
} from "../../../../schemas/tmf688.ts";
import { topicBodySchema } from "../../../../schemas/topics/topic.ts";

interface OptionalMember {
  readonly name: string;
  readonly schema: unknown;
  /** Puts the object with the member where the schema has it. */
  readonly wrap: (object: object) => unknown;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Every member that may be missing, at all levels. */
function* listOptional(schema: unknown, wrap: OptionalMember["wrap"]): Generator<OptionalMember> {
  if (!isObject(schema)) return;
  const { properties, required, items } = schema;
  yield* listOptional(items, (object) => wrap([object]));
  for (const [name, member] of Object.entries(isObject(properties) ? properties : {})) {
    if (!(Array.isArray(required) && required.includes(name))) yield { name, schema: member, wrap };
    yield* listOptional(member, (object) => wrap({ [name]: object }));
  }
}

describe("null and a missing member", () => {
  it("are the same to each operation with a body", () => {
    let members = 0;
    for (const { id, body } of operations) {
      if (body === undefined) continue;
      for (const { name, schema, wrap } of listOptional(body.schema, (object) => object)) {
        const object = { [name]: null };
        removeNullMembers(wrap(object), body.schema);
        assert.ok(!(name in object) || allowsNull(schema), `${id}: ${name}`);
        members += 1;
      }
    }
    assert.ok(members > 50, `${members} members`);
  });

  it("are the same in each record that others send", () => {
    const schemas = [eventSchema, eventRecordSchema, cloudEventSchema, pushFeedbackSchema, topicBodySchema];
    const ofTmf688 = [topicNotificationSchema, deletedTopicSchema, definedTopicSchema];
    for (const schema of [...schemas, ...ofTmf688])
      for (const { name, schema: member } of listOptional(schema, (object) => object))
        assert.ok(allowsNull(member), `${schema.$id}: ${name}`);
  });

  it("differ where a member is required, and in what no schema describes", () => {
    const schema = {
      type: "object",
      required: ["a"],
      properties: { a: { type: "string" }, b: { type: ["string", "null"] }, c: { enum: ["x"] } },
    };
    const body = { a: null, b: null, c: null, d: null };
    removeNullMembers(body, schema);
    assert.deepEqual(body, { a: null, b: null, d: null });
  });
});
