import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { NotLoadedError } from "@topicsync/lib/errors";
import { connectDeadLetters } from "../../support/dead-letters.ts";
import { definition, stage } from "../../support/scene.ts";

const { scene, producer } = stage();

/** An announcements topic, and functions to announce and to replay dead letters. */
async function prepare(t: TestContext) {
  const own = scene();
  const { start, topic, reached, topics } = own;
  await own.createTopic();
  const { open, plan } = await connectDeadLetters(t, own);
  const announce = (value: string | Buffer, key: string | Buffer | null = null) =>
    producer.send({ topic, messages: [{ key, value: Buffer.from(value) }] });
  return { start, topic, reached, topics, open, plan, announce };
}

const frame = Buffer.from([0, 0, 0, 0, 5]);
const toInvalid = (id: string) => JSON.stringify({ ...definition(id), contentQuery: "a=" });
const toValid = (id: string) => JSON.stringify(definition(id, "New"));
const toIds = (some: readonly { readonly id: string }[]): string[] => some.map(({ id }) => id);
const toReasons = (some: readonly { readonly reason: string; readonly message: string }[]) =>
  some.map(({ reason, message }) => [reason, message.replace(/^superseded: /, "")]);

describe("a replay", () => {
  it("overwrites nothing newer, in any envelope", async (t) => {
    const { start, reached, plan, announce } = await prepare(t);
    const service = await start();
    const notification = (id: string) =>
      JSON.stringify({
        eventType: "TopicCreateEvent",
        event: { topic: { ...definition(id), externalId: undefined, id, contentQuery: "a=" } },
      });
    await announce(toInvalid("framed"), Buffer.concat([frame, Buffer.from('"framed"')]));
    await announce(notification("notified"));
    await announce(
      JSON.stringify({
        specversion: "1.0",
        id: "1",
        source: "s",
        type: "t",
        data: JSON.parse(toInvalid("event")),
      }),
    );
    for (const id of ["framed", "notified", "event"]) await announce(toValid(id), id);
    await reached(6);
    const planned = await plan();
    assert.deepEqual(planned.send, []);
    assert.deepEqual(toReasons(planned.skipped), [
      ["superseded", "framed was announced later, at offset 3"],
      ["superseded", "notified was announced later, at offset 4"],
      ["superseded", "event was announced later, at offset 5"],
    ]);
    assert.equal(await service.stop(), 0);
  });

  it("does not overwrite pending announcements", async (t) => {
    const { start, topic, reached, open, plan, announce } = await prepare(t);
    const service = await start();
    await announce(toInvalid("a"), "a");
    await announce(toInvalid("b"), "b");
    await reached(2);
    await service.stop();
    await announce(toValid("a"), "a");
    const planned = await plan();
    assert.deepEqual(toIds(planned.send), [`${topic}-0-1`]);
    assert.deepEqual(toReasons(planned.skipped), [
      ["superseded", "a was announced later, at offset 2, which the sync has not applied yet"],
    ]);
    assert.deepEqual((await open().send(planned)).sent, [`${topic}-0-1`]);
    assert.deepEqual(toIds((await plan({ force: true })).send), [`${topic}-0-0`]);
  });

  it("does not overwrite announcements sent after it was planned, applied or pending", async (t) => {
    const { start, topic, reached, topics, open, plan, announce } = await prepare(t);
    const service = await start();
    for (const id of ["a", "b", "c"]) await announce(toInvalid(id), id);
    await reached(3);
    const planned = await plan();
    assert.equal(planned.send.length, 3);
    await announce(toValid("a"), "a");
    await reached(4);
    await service.stop();
    await announce(toValid("b"), "b");
    const { sent, skipped } = await open().send(planned);
    assert.deepEqual(sent, [`${topic}-0-2`]);
    assert.deepEqual(toReasons(skipped), [
      ["superseded", "a was announced later, at offset 3"],
      ["superseded", "b was announced later, at offset 4, which the sync has not applied yet"],
    ]);
    assert.deepEqual(await topics.distinct("topic_name"), ["New a"]);
  });

  it("is rejected while too many announcements are pending, unless forced", async (t) => {
    const { start, topic, reached, plan, announce } = await prepare(t);
    const service = await start();
    await announce(toInvalid("a"), "a");
    await reached(1);
    await service.stop();
    const messages = Array.from({ length: 10_001 }, () => ({ key: "b", value: "{}" }));
    for (let times = 0; times < 10; times += 1) await producer.send({ topic, messages });
    await assert.rejects(plan(), (error: unknown) => {
      assert.ok(error instanceof NotLoadedError);
      assert.match(error.message, /100010 announcements are waiting to be applied/);
      return true;
    });
    assert.deepEqual(toIds((await plan({ force: true })).send), [`${topic}-0-0`]);
  });

  it("sends the dead letters of one topic in order, also across batches", async (t) => {
    const { start, topic, reached, open, plan, announce } = await prepare(t);
    const service = await start();
    // More than one batch: each has up to half a megabyte.
    const large = (n: number) => `${toInvalid("a").slice(0, -1)},"namespace":"${String(n).repeat(90_000)}"}`;
    for (let n = 0; n < 8; n += 1) await announce(large(n), "a");
    await reached(8);
    const planned = await plan();
    assert.equal(planned.send.length, 8);
    const { sent, skipped } = await open().send(planned);
    assert.deepEqual(skipped, []);
    assert.deepEqual(
      sent,
      Array.from({ length: 8 }, (_, n) => `${topic}-0-${n}`),
    );
    await reached(16);
    assert.equal(await service.stop(), 0);
  });
});
