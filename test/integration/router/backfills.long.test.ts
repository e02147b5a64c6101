import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { BackfillView } from "../../../schemas/backfill.ts";
import { backfill, ended, getBackfill, postBackfill, settle } from "../../support/backfills.ts";
import { call } from "../../support/http.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { until } from "../../support/poll.ts";
import {
  createEvent,
  defineTopic,
  getText,
  routerStage,
  type RouterScene,
} from "../../support/router-scene.ts";
import { getMetric, getSyncStatus } from "../../support/scene.ts";
import type { TestService } from "../../support/service.ts";

const { admin, routerScene } = routerStage();

const v1 = "/api/topicsync/v1";
const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);

/** Sends events with these numbers, each as old as many minutes. */
const send = (scene: RouterScene, numbers: readonly number[], partition = 0) =>
  scene.produce(
    ...numbers.map((number) => ({
      value: createEvent(number % 2 === 0 ? "Even" : "Odd", { number }),
      timestamp: String(Date.now() - number * 60_000),
      partition,
    })),
  );

/** The offsets of the events that a topic has copies of, in the order of the copies. */
async function readOffsets(scene: RouterScene, externalId: string, topic = scene.egress) {
  const copies = (await scene.readAll(topic)).filter(
    (copy) => getText(copy, "topicsync.topic") === externalId,
  );
  return copies.map((copy) => Number(getText(copy, "topicsync.event")?.split("-").at(-1)));
}

/** Adds a topic, to which backfills forward at once. */
async function add(scene: RouterScene, service: TestService, externalId: string, headerQuery: string) {
  await scene.post(service, defineTopic(externalId, headerQuery));
  await settle(scene, externalId);
}

describe("a backfill", () => {
  it("forwards the events of a range that match, to this topic alone, in order and marked", async () => {
    const scene = routerScene();
    await scene.createTopics(2, 1);
    const service = await scene.start();
    await add(scene, service, "early", "eventType=Even,Odd");
    await scene.stored(1);
    // Timestamps need not grow.
    await send(scene, [9, 8, 7, 20, 6, 5, 4, 3, 2]);
    await send(scene, [8, 6, 4], 1);
    await scene.produce({ value: "no event", timestamp: String(Date.now() - 300_000), partition: 0 });
    await scene.routed();
    await add(scene, service, "late", "eventType=Even");
    const to = minutesAgo(3.5);
    const { id, ...done } = await backfill(service, "late", { from: minutesAgo(8.5), to });

    const all = await scene.readAll(scene.egress);
    const copies = all.filter((copy) => getText(copy, "topicsync.topic") === "late");
    const events = copies.map((copy) => getText(copy, "topicsync.event") ?? "");
    for (const [partition, offsets] of [
      [1, 4, 6],
      [0, 1, 2],
    ].entries())
      assert.deepEqual(
        events.filter((event) => event.startsWith(`${scene.events}-${partition}-`)),
        offsets.map((offset) => `${scene.events}-${partition}-${offset}`),
      );
    assert.equal(all.length, 12 + 6);
    for (const copy of copies) {
      assert.equal(getText(copy, "topicsync.backfill"), id);
      const original = all.find((one) => one.value?.toString() === copy.value?.toString());
      assert.equal(copy.timestamp, original?.timestamp);
    }
    assert.deepEqual(
      [done.state, done.copies, done.offsets, done.done, done.to, done.version],
      ["done", 6, 9, 9, to, 1],
    );
    assert.equal(await getMetric(service, "topicsync_backfill_copies_total"), 6);
    const { router } = await getSyncStatus(service);
    assert.equal(router?.counts?.forwarded, 12);
    assert.equal(router.backfills, 0);
    await until("the group is deleted", async () => {
      const { groups } = await admin.listGroups();
      return !groups.some(({ groupId }) => groupId.includes(id));
    });
  });

  it("sends nothing that the topic has: under an earlier filter, from an earlier backfill, or live", async () => {
    const scene = routerScene();
    await scene.createTopics();
    const service = await scene.start();
    await add(scene, service, "wider", "eventType=Odd");
    await scene.stored(1);
    await send(scene, range(0, 10));
    await scene.routed();
    assert.deepEqual(await readOffsets(scene, "wider"), [1, 3, 5, 7, 9]);
    const changed = await call(`${service.url}${v1}/topics/wider`, {
      method: "PUT",
      body: defineTopic("wider", "eventType=Even,Odd"),
      headers: { "If-Match": "*" },
    });
    assert.equal(changed.status, 200, changed.text);
    await settle(scene, "wider");
    const first = await backfill(service, "wider");
    assert.deepEqual(await readOffsets(scene, "wider"), [1, 3, 5, 7, 9, 0, 2, 4, 6, 8]);
    assert.deepEqual([first.copies, first.version], [5, 2]);
    await send(scene, [20, 21]);
    await scene.routed();
    assert.equal((await backfill(service, "wider")).copies, 0);
    assert.equal((await readOffsets(scene, "wider")).length, 12);
  });

  it("treats a replay as the router does: it goes to the topics that its dead letter names", async () => {
    const scene = routerScene({ KAFKA_EGRESS_TOPIC: "" });
    const egress = `${scene.events}.to.`;
    Object.assign(scene.settings, { KAFKA_EGRESS_TOPIC: `${egress}{externalId}` });
    await createKafkaTopics(admin, { topic: scene.events });
    const service = await scene.start();
    await add(scene, service, "lacking", "eventType=Even");
    await scene.stored(1);
    await send(scene, [2]);
    await scene.routed();
    await createKafkaTopics(admin, { topic: `${egress}lacking` }, { topic: `${egress}other` });
    await until("the dead letter is read", async () => {
      const { json } = await scene.deadLettersOverHttp(service);
      return json.deadLetters.length === 1;
    });
    const replayed = await scene.cli("dead-letters", "replay", "--channel", "events", "--all", "--yes");
    assert.equal(replayed.code, 0, replayed.errors);
    await until("the replay is forwarded", async () => {
      return (await readOffsets(scene, "lacking", `${egress}lacking`)).length === 1;
    });
    await add(scene, service, "other", "eventType=Even");
    assert.equal((await backfill(service, "other")).copies, 1);
    assert.equal((await backfill(service, "lacking")).copies, 0);
    assert.deepEqual(await readOffsets(scene, "other", `${egress}other`), [0]);
  });

  it("can be cancelled, and then sends nothing more", async () => {
    const scene = routerScene();
    await scene.createTopics();
    const service = await scene.start();
    await send(scene, range(0, 50));
    await scene.routed();
    await add(scene, service, "slow", "eventType=Even,Odd");
    const { json } = await postBackfill(service, "slow", { from: minutesAgo(100), rate: 1 });
    const { id } = json as BackfillView;
    await until("it runs", async () => (await readOffsets(scene, "slow")).length > 0);
    assert.equal((await getSyncStatus(service)).router?.backfills, 1);
    const again = await postBackfill(service, "slow");
    assert.deepEqual([again.status, again.json.error.code], [409, "BACKFILL_RUNNING"]);
    const cancelled = await call(`${service.url}${v1}/backfills/${id}/cancel`, { method: "POST" });
    assert.equal(cancelled.json.state, "cancelled");
    await until("it has stopped", () =>
      service.log.some(({ msg }) => msg === "backfill was cancelled or taken over"),
    );
    const { copies } = await getBackfill(service, id);
    assert.ok(copies < 50);
    // Another instance might still send something, so the next one would wait.
    const next = { _id: id as never, ended_on: { $gt: new Date(Date.now() - 60_000) } };
    const earlier = { $set: { ended_on: new Date(Date.now() - 3_600_000) } };
    assert.equal((await scene.db.collection("topicsync_backfills").updateOne(next, earlier)).matchedCount, 1);
    const rest = await backfill(service, "slow");
    assert.equal(rest.state, "done");
    assert.deepEqual(await readOffsets(scene, "slow"), range(0, 50));
    const actions = service.log.flatMap(({ msg }) => (/^backfill\./.test(String(msg)) ? [msg] : []));
    assert.deepEqual(actions, ["backfill.requested", "backfill.cancelled", "backfill.requested"]);
  });

  it("fails with the reason if Kafka rejects a copy, and the next one sends what is left", async () => {
    const scene = routerScene();
    const configEntries = [{ name: "max.message.bytes", value: "2000" }];
    await createKafkaTopics(admin, { topic: scene.events }, { topic: scene.egress, configEntries });
    const service = await scene.start();
    await send(scene, [4, 3]);
    await scene.produce({ value: createEvent("Even", { text: "x".repeat(3_000) }) });
    await send(scene, [1]);
    await scene.routed();
    await add(scene, service, "all", "eventType=Even,Odd");
    const failed = await backfill(service, "all", { from: minutesAgo(100), rate: 2 });
    assert.equal(failed.state, "failed");
    assert.match(
      String(failed.reason),
      new RegExp(`rejects the copy of ${scene.events}-0-2: .*max message size`),
    );
    assert.equal(failed.done, 2);
    await admin.alterConfigs({
      validateOnly: false,
      resources: [
        { type: 2, name: scene.egress, configEntries: [{ name: "max.message.bytes", value: "9000" }] },
      ],
    });
    assert.equal((await backfill(service, "all")).copies, 2);
    assert.deepEqual(await readOffsets(scene, "all"), range(0, 4));
  });

  it("ends when its topic is changed or disabled", async () => {
    const scene = routerScene();
    await scene.createTopics();
    const service = await scene.start();
    await send(scene, range(0, 50));
    await scene.routed();
    await add(scene, service, "ending", "eventType=Even,Odd");
    const { json } = await postBackfill(service, "ending", { from: minutesAgo(100), rate: 1 });
    await until("it runs", async () => (await readOffsets(scene, "ending")).length > 0);
    await call(`${service.url}${v1}/topics/ending/disable`, { method: "POST" });
    const { state, reason } = await ended(service, json.id);
    assert.equal(state, "failed");
    assert.match(String(reason), /the topic was changed or disabled/);
    const { status, text } = await postBackfill(service, "ending");
    assert.equal(status, 404);
    assert.match(text, /is disabled.*enable it first/);
  });

  it("waits until all instances know the version of the topic", async () => {
    const scene = routerScene();
    await scene.createTopics();
    const service = await scene.start();
    await scene.post(service, defineTopic("new", "eventType=Even"));
    const { json } = await postBackfill(service, "new");
    assert.equal(json.state, "waiting");
    const record = await scene.db.collection("topicsync_backfills").findOne({ topic_id: "new" });
    const topic = await scene.db.collection("svc_api_notif_mgmt_topic").findOne({ topic_id: "new" });
    assert.equal(record?.["leased_until"].getTime() - topic?.["sys_updated_on"].getTime(), 75_000);
    await settle(scene, "new");
    const { json: cancelled } = await call(`${service.url}${v1}/backfills/${String(json.id)}/cancel`, {
      method: "POST",
    });
    assert.equal((await postBackfill(service, "new")).json.state, "waiting");
    const next = await scene.db.collection("topicsync_backfills").findOne({ topic_id: "new", slot: "" });
    assert.equal(next?.["leased_until"].getTime() - Date.parse(cancelled.endedOn), 75_000);
  });

  it("rejects a range that cannot be forwarded, and says what can", async () => {
    const scene = routerScene();
    await scene.createTopics();
    const service = await scene.start();
    await add(scene, service, "some", "eventType=Even");
    const reject = async (body: object): Promise<string> => {
      const { status, text, json } = await postBackfill(service, "some", body);
      assert.equal(status, 400, text);
      return json.error.detail as string;
    };
    const tomorrow = minutesAgo(-1_440);
    assert.equal(
      await reject({ from: tomorrow, to: minutesAgo(5) }),
      "/from is in the future. /to must be later than from.",
    );
    const times = range(0, 4).map((number) => minutesAgo(number));
    await send(scene, [3, 2, 1]);
    await scene.routed();
    await admin.deleteTopicRecords({ topic: scene.events, partitions: [{ partition: 0, offset: "1" }] });
    const detail = await reject({ from: times[3], to: times[0] });
    assert.match(detail, /^\/from is earlier than the first event that Kafka still has: begin with 20/);
    const from = /begin with (\S+)\.$/.exec(detail)?.[1];
    assert.equal((await backfill(service, "some", { from })).offsets, 2);
  });

  it("counts the events on a dry run, and sends nothing", async () => {
    const scene = routerScene();
    await scene.createTopics();
    const service = await scene.start();
    await send(scene, range(0, 10));
    await scene.routed();
    await add(scene, service, "dry", "eventType=Even");
    const local = await scene.cli("topics", "backfill", "dry", "--from", minutesAgo(100), "--dry-run");
    assert.equal(local.output, "5 of 10 events match the topic.\n", local.errors);
    const { output } = await scene.cli("topics", "backfill", "dry", "--from", minutesAgo(100), "--json");
    assert.equal(JSON.parse(output).copies, 5);
    assert.match((await scene.cli("backfills", "list")).output, /dry .* done .* 100 % .* 5 /);
  });
});
