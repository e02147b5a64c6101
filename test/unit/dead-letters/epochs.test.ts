import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { identifyTopic } from "../../../consumers/announcements/decode.ts";
import { readConfig } from "../../../src/config.ts";
import { listLetters, openDeadLetters } from "../../../src/dead-letters/browse.ts";
import { planReplay } from "../../../src/dead-letters/plan.ts";
import { sendReplays } from "../../../src/dead-letters/replay.ts";
import { createTopicStates } from "../../../src/dead-letters/topic-states.ts";
import { createBroker } from "../../../src/kafka/client.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { createDatabase } from "../../../src/storage/database.ts";
import { createReplayStore } from "../../../src/storage/replays.ts";
import { createSyncState } from "../../../src/storage/sync-state.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";
import { runCli, startTopicsync } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const stack = sharedStack();
const { scene, producer } = stage(stack);
const log = await createLogger("silent");
const broker = createBroker({ ...readConfig({}).kafka, brokers: [stack.kafka] }, log);
const { signal: never } = new AbortController();
before(() => broker.reach(never));
after(() => broker.close());

describe("dead letters of a Kafka topic that was deleted and created again", () => {
  it("are told apart by the epoch of the log, and replayed each by itself", async (t) => {
    const { settings, uri, topic, deadLetterTopic, key, deadLetters, positions, ...own } = scene();
    const database = createDatabase(uri, log);
    await database.connect(never);
    t.after(() => database.close());
    const open = async () => {
      const opened = await openDeadLetters(
        {
          topic: deadLetterTopic,
          identify: identifyTopic,
          read: () => broker.read(deadLetterTopic, { abort: never }),
        },
        { replays: createReplayStore(database), sync: createSyncState(database, key.group) },
      );
      return { ...opened, states: createTopicStates({ ...opened, reader: broker, topic, abort: never }) };
    };
    const to = { topic, partitions: 1 };
    const plan = async () => planReplay(await open(), to, { choice: {}, again: false, force: false });
    const announceBad = (id: string) =>
      producer.send({ topic, messages: [{ key: id, value: JSON.stringify({ externalId: id }) }] });

    await own.createTopic();
    await announceBad("first");
    await own.announce(0, 2);
    const first = await startTopicsync(settings);
    await own.reached(3);
    assert.equal(await deadLetters(), 1);

    // The letter of the first epoch goes back, and is refused again at offset 3.
    const planned = await plan();
    assert.deepEqual(
      planned.send.map(({ id }) => id),
      [`${topic}-0-0`],
    );
    const replayProducer = broker.producer(topic);
    t.after(() => replayProducer.close());
    const { sent } = await sendReplays(planned, {
      ...(await open()),
      to,
      producer: replayProducer,
      now: () => new Date(),
      abort: never,
      progress: () => undefined,
    });
    assert.equal(sent.length, 1);
    await own.reached(4);
    await first.stop();

    await own.deleteTopic();
    await own.createTopic();
    await announceBad("second");
    const second = await startTopicsync(settings);
    await until("the second epoch is applied", async () => (await positions.findOne({}))?.epoch === 2);
    await own.reached(1);

    const listed: unknown[] = [];
    for await (const { letter, copies, replays } of listLetters(await open(), {}))
      listed.push([letter.id, copies, String(letter.key), replays.map(({ outcome }) => outcome.kind)]);
    assert.deepEqual(listed, [
      [`${topic}-0-0`, 1, "first", ["refused again"]],
      [`${topic}-0-3`, 1, "first", []],
      [`${topic}-0-0-2`, 1, "second", []],
    ]);
    assert.deepEqual(
      (await plan()).send.map(({ id }) => id),
      [`${topic}-0-3`, `${topic}-0-0-2`],
    );

    // What is announced from the command line is found among the letters of this epoch.
    const holder = { externalId: "holder", name: "One name" };
    const definitions = [holder, { ...holder, externalId: "other" }].map((one) => JSON.stringify(one));
    const { code, output, errors } = await runCli(
      ["announce", "--wait", "--json", "-"],
      settings,
      definitions.join("\n"),
    );
    assert.equal(code, 3, errors);
    const { refused } = JSON.parse(output) as { refused: { id: string; code: string }[] };
    assert.deepEqual(
      refused.map((one) => [one.id, one.code]),
      [[`${topic}-0-2-2`, "DUPLICATE_COMBINATION"]],
    );
    assert.equal(await second.stop(), 0);
  });
});
