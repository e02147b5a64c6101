import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { registrationSchema, type Registration } from "../schemas/installation.ts";
import { topicBodySchema, type TopicBody } from "../schemas/topic.ts";
import { compile } from "../src/validation.ts";

const checkTopic = compile<TopicBody>(topicBodySchema);
const checkRegistration = compile<Registration>(registrationSchema);

const faultsOf = (checked: ReturnType<typeof checkTopic> | ReturnType<typeof checkRegistration>) =>
  checked.ok ? [] : checked.faults;

describe("a check against a schema", () => {
  it("changes nothing in what it accepts", () => {
    const body = { name: "n", externalId: "e", namespace: null };
    const checked = checkTopic(body);
    assert.ok(checked.ok);
    assert.equal(checked.value, body);
    assert.deepEqual(body, { name: "n", externalId: "e", namespace: null });
  });

  it("says what is wrong in words", () => {
    assert.deepEqual(
      faultsOf(checkTopic({ name: 1, externalId: "", namespace: [], headerQuery: "a\ud800" })),
      [
        { path: "/name", message: "must be a string, but is a number" },
        { path: "/externalId", message: "must not be empty" },
        { path: "/namespace", message: "must be a string or null, but is an array" },
        { path: "/headerQuery", message: "must be well-formed Unicode text without NUL characters" },
      ],
    );
    assert.deepEqual(faultsOf(checkRegistration({ platform: "p", token: "t".repeat(5_000) })), [
      { path: "/token", message: "must have at most 4096 characters" },
    ]);
  });

  it("points at members whose names need escaping", () => {
    const [fault] = faultsOf(checkTopic({ name: "n", externalId: "e", "a/b~c": 1 }));
    assert.equal(fault?.path, "/a~1b~0c");
  });

  it("sees a member that is named like one of every object's", () => {
    const body: unknown = JSON.parse('{"name":"n","externalId":"e","__proto__":{},"constructor":1}');
    assert.deepEqual(
      faultsOf(checkTopic(body)).map(({ path }) => path),
      ["/__proto__", "/constructor"],
    );
  });

  it("counts the faults beyond the first fifty instead of listing them", () => {
    const body = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`x${i}`, 1]));
    const faults = faultsOf(checkTopic({ ...body, name: "n", externalId: "e" }));
    assert.equal(faults.length, 51);
    assert.equal(faults[50]?.message, "has 950 more faults");
  });
});
