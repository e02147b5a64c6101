/** The oldest supported version of Kafka. All other tests run on the newest. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { oldestKafka, startOldKafka } from "../../support/old-kafka.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, getText, routerStage } from "../../support/router-scene.ts";
import { definition, getSyncStatus } from "../../support/scene.ts";
import { sharedStack } from "../../support/stack.ts";
import { beside, runCli } from "../../support/service.ts";

const { routerScene } = routerStage({ mongodb: sharedStack().mongodb, kafka: await startOldKafka() });

describe(`Kafka ${oldestKafka}`, () => {
  it("has its announcements applied, rejected and replayed, also after its topic was created again", async () => {
    const own = routerScene();
    await own.createTopics();
    const service = await own.start();
    await own.announce(0, 200);
    await own.retire(0, 50);
    await own.inStep();
    await own.send({ externalId: "rejected", name: "" });
    await until("it is a dead letter", async () => (await own.deadLetters()) === 1);
    const letters = await own.cli("dead-letters", "list", "--json");
    assert.match(letters.output, /"code":"SCHEMA_VIOLATION"/, letters.errors);
    const id = (JSON.parse(letters.output.split("\n")[0] ?? "") as { id: string }).id;
    const replay = await own.cli("dead-letters", "replay", id, "--yes");
    assert.equal(replay.code, 0, replay.errors);
    await until("it is rejected again", async () => (await own.deadLetters()) === 2);

    await own.recreateTopic();
    await own.send(definition("id-60", "Changed"), definition("later"));
    const changed = await until(
      "the new log is read",
      async () => (await own.topics.findOne({ topic_name: "Changed id-60" })) ?? undefined,
    );
    // Only logs that are told apart by their ids have epochs.
    assert.partialDeepStrictEqual(changed, { source: { epoch: 2 } });
    await own.caughtUp();
    assert.equal(await own.count(), 151);
    assert.deepEqual((await getSyncStatus(service)).problems, []);
    assert.equal(await service.stop(), 0);
  });

  it("has its events forwarded in transactions, and answers the commands", async () => {
    const own = routerScene({ KAFKA_EGRESS_CREATE: "true" });
    await own.createTopics(2);
    const service = await own.start();
    await own.send(defineTopic("alarms", "eventType=AlarmCreateEvent"));
    await own.stored(1);
    await own.produce(
      ...Array.from({ length: 50 }, (_, at) => ({
        key: `key-${at}`,
        value: createEvent(at % 2 === 0 ? "AlarmCreateEvent" : "AlarmChangeEvent"),
      })),
      { value: "no event" },
    );
    await own.routed();
    const copies = await own.readAll(own.egress);
    assert.equal(copies.length, 25);
    assert.deepEqual(new Set(copies.map((copy) => getText(copy, "topicsync.topic"))), new Set(["alarms"]));
    assert.equal((await own.readAll(`${own.events}.dead-letter`)).length, 1);
    for (const command of [["status"], ["topics", "egress"]]) {
      const { code, errors } = await runCli(command, { ...own.settings, ...beside(service) });
      assert.equal(code, 0, errors);
    }
    assert.equal(await service.stop(), 0);
  });
});
