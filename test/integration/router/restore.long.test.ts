/** docs/backup-and-restore.md, "The router": what happens to events when the database is restored. */
import assert from "node:assert/strict";
import { it } from "node:test";

import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, getText, routerStage } from "../../support/router-scene.ts";

const { routerScene } = routerStage();
const createEvents = (count: number) => Array.from({ length: count }, () => ({ value: createEvent("E") }));

it("goes on where it was when the database is restored, once the topics are those of the log", async () => {
  const scene = routerScene();
  await scene.createTopics();
  const first = await scene.start();
  await scene.send(defineTopic("before", "eventType=E"));
  await scene.stored(1);
  await scene.produce(...createEvents(5));
  await scene.routed();
  const names = ["svc_api_notif_mgmt_topic", "topicsync_positions"];
  const backup = await Promise.all(
    names.map(async (name) => [name, await scene.db.collection(name).find().toArray()] as const),
  );

  await scene.send(defineTopic("after", "eventType=E"));
  await scene.stored(2);
  await scene.produce(...createEvents(5));
  await scene.routed();
  await first.stop();
  for (const [name, records] of backup) {
    await scene.db.collection(name).deleteMany({});
    await scene.db.collection(name).insertMany(records);
  }
  assert.equal(await scene.count(), 1);
  await scene.produce(...createEvents(5));

  // Without the router, until the sync has caught up.
  const catchingUp = await scene.start({ KAFKA_EVENTS_TOPIC: "" });
  await until("the sync has caught up", async () => (await scene.count()) === 2);
  await catchingUp.stop();
  const last = await scene.start();
  await scene.routed();
  await last.stop();

  const copies = await scene.readAll(scene.egress);
  const ids = copies.map(
    (copy) => `${getText(copy, "topicsync.topic") ?? ""} ${getText(copy, "topicsync.event") ?? ""}`,
  );
  const expected = [
    ...Array.from({ length: 15 }, (_, offset) => `before ${scene.events}-0-${offset}`),
    ...Array.from({ length: 10 }, (_, offset) => `after ${scene.events}-0-${offset + 5}`),
  ];
  assert.deepEqual(ids.toSorted(), expected.toSorted());
});
