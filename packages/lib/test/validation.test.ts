import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { registrationSchema, type Registration } from "../../../schemas/installations/installation.ts";
import { topicBodySchema, type TopicBody } from "../../../schemas/topics/topic.ts";
import { createValidator, createSchemaCompiler } from "../validation.ts";

const checkTopic = createValidator<TopicBody>(topicBodySchema);
const checkRegistration = createValidator<Registration>(registrationSchema);

const getFaults = (checked: ReturnType<typeof checkTopic> | ReturnType<typeof checkRegistration>) =>
  checked.ok ? [] : checked.faults;

const rules = createSchemaCompiler({});

/** Uses a new validator: some schemas are also part of others, under the same name. */
const compileStrictly = (schema: object) => (): void => {
  assert.equal(rules.validateSchema(schema, true), true);
  createSchemaCompiler({ meta: false, validateSchema: false }).compile(schema);
};

describe("the schemas", () => {
  it("are valid and have no unknown keywords", async () => {
    const folder = fileURLToPath(new URL("../../../schemas/", import.meta.url));
    let read = 0;
    for (const file of globSync("*.ts", { cwd: folder })) {
      const exported = (await import(join(folder, file))) as Record<string, unknown>;
      for (const [name, schema] of Object.entries(exported)) {
        if (!name.endsWith("Schema")) continue;
        assert.doesNotThrow(compileStrictly(schema as object), `${file}: ${name}`);
        read += 1;
      }
    }
    assert.ok(read >= 40, `${read} schemas were found`);
  });

  it("are checked for invalid and unknown keywords", () => {
    assert.throws(compileStrictly({ type: "text" }), /schema is invalid/);
    assert.throws(compileStrictly({ type: "object", member: [] }), /unknown keyword/);
  });
});

describe("a check against a schema", () => {
  it("does not change accepted values", () => {
    const body = { name: "n", externalId: "e", namespace: null };
    const checked = checkTopic(body);
    assert.ok(checked.ok);
    assert.equal(checked.value, body);
    assert.deepEqual(body, { name: "n", externalId: "e", namespace: null });
  });

  it("describes faults in words", () => {
    assert.deepEqual(
      getFaults(checkTopic({ name: 1, externalId: "", namespace: [], headerQuery: "a\ud800" })),
      [
        { path: "/name", message: "must be a string, but is a number" },
        { path: "/externalId", message: "must not be empty" },
        { path: "/namespace", message: "must be a string or null, but is an array" },
        { path: "/headerQuery", message: "must be well-formed Unicode text without NUL characters" },
      ],
    );
    assert.deepEqual(getFaults(checkRegistration({ platform: "p", token: "t".repeat(5_000) })), [
      { path: "/token", message: "must have at most 4096 characters" },
    ]);
  });

  it("escapes member names in paths", () => {
    const [fault] = getFaults(checkTopic({ name: "n", externalId: "e", "a/b~c": 1 }));
    assert.equal(fault?.path, "/a~1b~0c");
  });

  it("handles members named like those of Object.prototype", () => {
    const body: unknown = JSON.parse('{"name":"n","externalId":"e","__proto__":{},"constructor":1}');
    assert.deepEqual(
      getFaults(checkTopic(body)).map(({ path }) => path),
      ["/__proto__", "/constructor"],
    );
  });

  it("counts the faults beyond the first fifty instead of listing them", () => {
    const body = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`x${i}`, 1]));
    const faults = getFaults(checkTopic({ ...body, name: "n", externalId: "e" }));
    assert.equal(faults.length, 51);
    assert.equal(faults[50]?.message, "has 950 more faults");
  });
});
