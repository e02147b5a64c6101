import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { deadLetter, deadLetterStage } from "../../support/dead-letter-scene.ts";

const { createScene } = await deadLetterStage();

describe("the dead-letter topic", () => {
  it("may be empty or missing", async () => {
    const { deadLetters, createTopics } = createScene();
    const missing = await deadLetters("list");
    assert.deepEqual([missing.code, /no dead letters/.test(missing.output)], [0, true]);
    await createTopics();
    const empty = await deadLetters("list");
    assert.deepEqual([empty.code, /no dead letters/.test(empty.output)], [0, true]);
    assert.equal((await deadLetters("list", "--json")).output, "");
    const unknown = await deadLetters("show", "nothing-0-1");
    assert.deepEqual([unknown.code, /There is no dead letter "nothing-0-1"/.test(unknown.errors)], [1, true]);
    assert.equal((await deadLetters("replay", "nothing-0-1", "--yes")).code, 1);
  });

  it("may hold copies, references, foreign and hostile records", async () => {
    const { topic, deadLetterTopic, deadLetters, list, show, createTopics, readRecords, sendLetters } =
      createScene();
    await createTopics();
    const bytes = Buffer.from([0, 255, 1, 254]);
    await sendLetters([
      deadLetter(topic, 7, { value: "first copy" }),
      deadLetter(topic, 8, {
        value: null,
        headers: { "topicsync.omitted": "too large: 9 bytes lie elsewhere" },
      }),
      deadLetter(topic, 7, { value: "second copy" }),
      { key: "k", value: bytes, headers: { "__connect.errors.exception.class.name": "org.example.Oops" } },
      {
        value: "\u001b[31mred",
        headers: {
          ...deadLetter(topic, 9).headers,
          "topicsync.id": `${topic}-0-7`,
          "topicsync.details": "{",
        },
      },
      deadLetter(topic, 10, {
        code: "NEW",
        headers: {
          "topicsync.details": '[1,{"path":2}]',
          "__connect.errors.exception.message": "\u001b]0;title\u0007",
        },
      }),
      deadLetter("another.topic", 3, {
        headers: { "__connect.errors.partition": "-1", ["__proto__"]: "p", constructor: "c" },
      }),
    ]);
    const all = await list();
    assert.deepEqual(
      all.map(({ id, code }) => [id, code]),
      [
        [`${deadLetterTopic}-0-6`, "OTHER"],
        [`${topic}-0-10`, "OTHER"],
        [`${deadLetterTopic}-0-4`, "OTHER"],
        [`${deadLetterTopic}-0-3`, "OTHER"],
        [`${topic}-0-7`, "MALFORMED_JSON"],
        [`${topic}-0-8`, "MALFORMED_JSON"],
      ],
    );
    assert.equal((await show(`${topic}-0-7`)).copies, 2);
    assert.match((await deadLetters("show", `${topic}-0-7`)).output, /^second copy$/m);
    assert.match(
      (await deadLetters("show", `${deadLetterTopic}-0-3`)).output,
      /org\.example\.Oops[^]*00 ff 01 fe/,
    );
    const hostile = await deadLetters("list");
    assert.ok(!hostile.output.includes("\u001b"), "the output contains an escape character");
    assert.ok(
      !(await deadLetters("show", `${deadLetterTopic}-0-4`)).output.includes("\u001b"),
      "the output contains an escape character",
    );

    const { code, output } = await deadLetters("replay", "--all", "--yes");
    assert.equal(code, 0);
    assert.match(output, /-0-8 .*too large: 9 bytes lie elsewhere/);
    const sent = await readRecords(topic);
    assert.equal(sent.length, 5);
    assert.deepEqual(sent.find(({ key }) => String(key) === "k")?.value, bytes);
    assert.ok(
      sent.every(({ headers }) => Object.keys(headers).every((name) => !name.startsWith("__connect"))),
    );
  });

  it("is filtered by code and age", async () => {
    const { topic, deadLetters, list, createTopics, sendLetters } = createScene();
    await createTopics();
    const old = {
      ...deadLetter(topic, 1, { code: "TOO_LARGE" }),
      timestamp: String(Date.now() - 3 * 86_400_000),
    };
    await sendLetters([old, deadLetter(topic, 2)]);
    const ids = async (...args: string[]) => (await list(...args)).map(({ id }) => id.at(-1));
    assert.deepEqual(await ids("--code", "TOO_LARGE"), ["1"]);
    assert.deepEqual(await ids("--code", "TOO_LARGE", "MALFORMED_JSON"), ["2", "1"]);
    assert.deepEqual(await ids("--newer-than", "2h"), ["2"]);
    assert.deepEqual(await ids("--older-than", "2d"), ["1"]);
    assert.deepEqual(await ids("--newer-than", "4d", "--older-than", "30m"), ["2", "1"]);
    const unknown = await deadLetters("list", "--code", "NONSENSE");
    assert.deepEqual([unknown.code, /Allowed choices are MALFORMED_JSON/.test(unknown.errors)], [64, true]);
    for (const bad of ["5", "-2h", "soon", "2 hows"]) {
      const { code, errors } = await deadLetters("list", `--newer-than=${bad}`);
      assert.deepEqual([code, errors.includes("--newer-than")], [64, true], errors);
    }
  });
});
