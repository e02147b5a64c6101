import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  createBothTopics,
  GROUP,
  PREFIXED,
  READ,
  readAnnouncements,
  readDeadLetters,
  stageWithRights,
  TOPIC,
  TRANSACTIONAL_ID,
  useGroups,
  WRITE,
  writeDeadLetters,
  type Right,
} from "../../support/access-rules.ts";
import { call } from "../../support/http.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import {
  definition,
  getMetric,
  getSyncStatus,
  waitUntilNotReady,
  waitUntilReady,
} from "../../support/scene.ts";
import { startTopicsyncHere } from "../../support/service.ts";

const { admin, producer, grant, revoke, createSceneAs } = await stageWithRights([
  "loses_events",
  "loses_group",
  "loses_topics",
]);

/** A service that routes events as a user who loses a right. */
async function startRouter(user: string) {
  const events = unique("events");
  const group = unique("router");
  const readEvents: Right = { type: TOPIC, name: events, operations: [READ] };
  const useRouterGroup: Right = { type: GROUP, name: group, operations: [READ] };
  const at = await createSceneAs(user, (one) => [
    readAnnouncements(one),
    readDeadLetters(one),
    writeDeadLetters(one),
    useGroups(one),
    readEvents,
    useRouterGroup,
    { type: TOPIC, name: `${events}.`, pattern: PREFIXED, operations: [WRITE] },
    { type: TRANSACTIONAL_ID, name: group, pattern: PREFIXED, operations: [WRITE] },
  ]);
  const egress = `${events}.to`;
  const names = [events, `${events}.dead-letter`, egress];
  await createBothTopics(at);
  await createKafkaTopics(admin, ...names.map((topic) => ({ topic, numPartitions: 1 })));
  const service = await startTopicsyncHere({
    ...at.asUser,
    KAFKA_EVENTS_TOPIC: events,
    KAFKA_EVENTS_GROUP_ID: group,
    KAFKA_EGRESS_TOPIC: egress,
  });
  await service.ready();
  await waitUntilReady(service);
  const everything = { ...definition("one"), contentQuery: "" };
  await at.send(everything);
  await at.stored(1);
  return {
    ...{ at, service, events, readEvents, useRouterGroup },
    route: async (): Promise<void> => {
      const countCopies = async () => Number((await admin.fetchTopicOffsets(egress))[0]?.high);
      const before = await countCopies();
      await producer.send({ topic: events, messages: [{ value: '{"eventType":"ResourceCreateEvent"}' }] });
      await until("the event is forwarded", async () => (await countCopies()) > before);
    },
  };
}

describe("a right that is revoked while the service runs", () => {
  for (const [user, right] of [
    ["loses_events", "readEvents"],
    ["loses_group", "useRouterGroup"],
  ] as const)
    it(`pauses only the router until it is granted: ${right}`, async () => {
      const { at, service, route, events, [right]: lost } = await startRouter(user);
      await route();
      await revoke(user, lost);
      const reason = new RegExp(`Read on ${right === "readEvents" ? "topic" : "group"} "${lost.name}"`);
      await until("the router is paused, and says why", async () => {
        const { router } = await getSyncStatus(service);
        return reason.test(router?.partitions[0]?.reason ?? "");
      });
      assert.equal(
        await getMetric(
          service,
          `topicsync_partition_paused{consumer="router",topic="${events}",partition="0"}`,
        ),
        1,
      );
      assert.ok(
        service.log.some(({ msg }) => msg === "partition paused" || msg?.startsWith("consumer paused")),
      );
      await at.send(definition("two"));
      await at.stored(2);
      await waitUntilReady(service);
      await grant(user, [lost]);
      await route();
      assert.equal(await service.stop(), 0);
    });

  it("pauses only the sync until it is granted", async () => {
    const { at, service, route } = await startRouter("loses_topics");
    await revoke("loses_topics", readAnnouncements(at));
    await waitUntilNotReady(service, "consumer", new RegExp(`Read on topic "${at.topic}"`));
    await route();
    const { status } = await call(`${service.url}/api/topicsync/v1/topics`, { method: "GET" });
    assert.equal(status, 200);
    await grant("loses_topics", [readAnnouncements(at)]);
    await at.send(definition("two"));
    await at.stored(2);
    await waitUntilReady(service);
    assert.equal(await service.stop(), 0);
  });
});
