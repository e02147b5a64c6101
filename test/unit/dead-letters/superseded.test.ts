import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";

import { identifyTopic } from "../../../consumers/announcements/decode.ts";
import { readConfig } from "../../../src/config.ts";
import { openDeadLetters } from "../../../src/dead-letters/browse.ts";
import { planReplay, type ReplayPlan } from "../../../src/dead-letters/plan.ts";
import { sendReplays } from "../../../src/dead-letters/replay.ts";
import { createTopicStates } from "../../../src/dead-letters/topic-states.ts";
import { NotLoadedError } from "../../../src/lib/errors.ts";
import { createBroker } from "../../../src/kafka/client.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { createDatabase } from "../../../src/storage/database.ts";
import { createReplayStore } from "../../../src/storage/replays.ts";
import { createSyncState } from "../../../src/storage/sync-state.ts";
import { definition, stage } from "../../support/scene.ts";
import { startTopicsync } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const stack = sharedStack();
const { scene, producer } = stage(stack);
const log = await createLogger("silent");
const broker = createBroker({ ...readConfig({}).kafka, brokers: [stack.kafka] }, log);
const { signal: never } = new AbortController();
before(() => broker.reach(never));
after(() => broker.close());

/** A broker with an announcements topic, and what plans and sends replays as the command line does. */
async function prepare(t: TestContext) {
  const { settings, uri, topic, deadLetterTopic, key, createTopic, reached, topics } = scene();
  await createTopic();
  const database = createDatabase(uri, log);
  await database.connect(never);
  const replayProducer = broker.producer(topic);
  t.after(() => Promise.all([replayProducer.close(), database.close()]));
  const to = { topic, partitions: 1 };

  async function plan({ force = false } = {}) {
    const opened = await openDeadLetters(
      {
        topic: deadLetterTopic,
        identify: identifyTopic,
        read: () => broker.read(deadLetterTopic, { abort: never }),
      },
      { replays: createReplayStore(database), sync: createSyncState(database, key.group) },
    );
    const letters = {
      ...opened,
      states: createTopicStates({ ...opened, reader: broker, topic, abort: never }),
    };
    const planned = await planReplay(letters, to, { choice: {}, again: false, force });
    const send = (chosen: ReplayPlan = planned) =>
      sendReplays(chosen, {
        ...letters,
        to,
        producer: replayProducer,
        now: () => new Date(),
        abort: never,
        progress: () => undefined,
      });
    return { planned, send };
  }

  const announce = (value: string | Buffer, recordKey: string | Buffer | null = null) =>
    producer.send({ topic, messages: [{ key: recordKey, value: Buffer.from(value) }] });
  return { settings, topic, reached, topics, plan, announce };
}

const frame = Buffer.from([0, 0, 0, 0, 5]);
const bad = (id: string) => JSON.stringify({ ...definition(id), contentQuery: "a=" });
const good = (id: string) => JSON.stringify(definition(id, "New"));
const ids = (some: readonly { readonly id: string }[]): string[] => some.map(({ id }) => id);
const reasons = (some: readonly { readonly kind: string; readonly reason: string }[]) =>
  some.map(({ kind, reason }) => [kind, reason.replace(/^superseded: /, "")]);

describe("a replay overwrites nothing newer", () => {
  it("whatever envelope names the topic", async (t) => {
    const { settings, reached, plan, announce } = await prepare(t);
    const service = await startTopicsync(settings);
    const notification = (id: string) =>
      JSON.stringify({
        eventType: "TopicCreateEvent",
        event: { topic: { ...definition(id), externalId: undefined, id, contentQuery: "a=" } },
      });
    await announce(bad("framed"), Buffer.concat([frame, Buffer.from('"framed"')]));
    await announce(notification("notified"));
    await announce(
      JSON.stringify({ specversion: "1.0", id: "1", source: "s", type: "t", data: JSON.parse(bad("event")) }),
    );
    for (const id of ["framed", "notified", "event"]) await announce(good(id), id);
    await reached(6);
    const { planned } = await plan();
    assert.deepEqual(planned.send, []);
    assert.deepEqual(reasons(planned.skipped), [
      ["superseded", "framed was announced later, at offset 3"],
      ["superseded", "notified was announced later, at offset 4"],
      ["superseded", "event was announced later, at offset 5"],
    ]);
    assert.equal(await service.stop(), 0);
  });

  it("that the sync has not applied yet", async (t) => {
    const { settings, topic, reached, plan, announce } = await prepare(t);
    const service = await startTopicsync(settings);
    await announce(bad("a"), "a");
    await announce(bad("b"), "b");
    await reached(2);
    await service.stop();
    await announce(good("a"), "a");
    const { planned, send } = await plan();
    assert.deepEqual(ids(planned.send), [`${topic}-0-1`]);
    assert.deepEqual(reasons(planned.skipped), [
      ["superseded", "a was announced later, at offset 2, which the sync has not applied yet"],
    ]);
    assert.deepEqual((await send()).sent, [`${topic}-0-1`]);
    assert.deepEqual(ids((await plan({ force: true })).planned.send), [`${topic}-0-0`]);
  });

  it("that was announced since the replay was planned, applied or not", async (t) => {
    const { settings, topic, reached, topics, plan, announce } = await prepare(t);
    const service = await startTopicsync(settings);
    for (const id of ["a", "b", "c"]) await announce(bad(id), id);
    await reached(3);
    const { planned, send } = await plan();
    assert.equal(planned.send.length, 3);
    await announce(good("a"), "a");
    await reached(4);
    await service.stop();
    await announce(good("b"), "b");
    const { sent, refused } = await send();
    assert.deepEqual(sent, [`${topic}-0-2`]);
    assert.deepEqual(reasons(refused), [
      ["superseded", "a was announced later, at offset 3"],
      ["superseded", "b was announced later, at offset 4, which the sync has not applied yet"],
    ]);
    assert.deepEqual(await topics.distinct("topic_name"), ["New a"]);
  });

  it("and is not planned while too much waits for the sync to tell, unless it is forced", async (t) => {
    const { settings, topic, reached, plan, announce } = await prepare(t);
    const service = await startTopicsync(settings);
    await announce(bad("a"), "a");
    await reached(1);
    await service.stop();
    const messages = Array.from({ length: 10_001 }, () => ({ key: "b", value: "{}" }));
    for (let times = 0; times < 10; times += 1) await producer.send({ topic, messages });
    await assert.rejects(plan(), (error: unknown) => {
      assert.ok(error instanceof NotLoadedError);
      assert.match(error.message, /100010 announcements wait to be applied/);
      return true;
    });
    assert.deepEqual(ids((await plan({ force: true })).planned.send), [`${topic}-0-0`]);
  });

  it("and the letters of one topic follow each other, also in batches of their own", async (t) => {
    const { settings, topic, reached, plan, announce } = await prepare(t);
    const service = await startTopicsync(settings);
    // More than one batch: each has up to half a megabyte.
    const large = (n: number) => `${bad("a").slice(0, -1)},"namespace":"${String(n).repeat(90_000)}"}`;
    for (let n = 0; n < 8; n += 1) await announce(large(n), "a");
    await reached(8);
    const { planned, send } = await plan();
    assert.equal(planned.send.length, 8);
    const { sent, refused } = await send();
    assert.deepEqual(refused, []);
    assert.deepEqual(
      sent,
      Array.from({ length: 8 }, (_, n) => `${topic}-0-${n}`),
    );
    await reached(16);
    assert.equal(await service.stop(), 0);
  });
});
