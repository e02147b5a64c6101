import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

import { useFolder } from "../../support/folder.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, getText, routerStage } from "../../support/router-scene.ts";
import { runJson } from "../../support/service.ts";

const { routerScene } = routerStage();
const folder = useFolder();

interface PositionView {
  readonly consumer: string;
  readonly partition: number;
  readonly offset: number | null;
  readonly logStart: number;
  readonly logEnd: number;
  readonly clusterId: string | null;
  readonly otherCluster: string | null;
  readonly to?: number;
  readonly readAgain?: number | null;
  readonly skipped?: number | null;
}

const createEvents = (from: number, to: number, partition = 0) =>
  Array.from({ length: to - from }, (_, index) => ({
    value: createEvent("E", { number: from + index }),
    partition,
  }));

/** A service that has applied ten announcements and forwarded ten events of each of two partitions. */
async function createScene() {
  const auditLog = `${folder.path}/${crypto.randomUUID()}`;
  const scene = routerScene({ AUDIT_LOG: auditLog });
  await scene.createTopics(2);
  const service = await scene.start();
  await scene.send(defineTopic("all", "eventType=E"));
  await scene.announce(0, 9);
  await scene.stored(10);
  await scene.produce(...createEvents(0, 10), ...createEvents(0, 10, 1));
  await scene.routed();
  return {
    ...scene,
    service,
    list: async (...args: string[]) =>
      (await runJson(["positions", ...args], scene.settings)) as readonly PositionView[],
    set: async (...args: string[]) =>
      (await runJson(["positions", "set", ...args], scene.settings)) as readonly PositionView[],
    readAudit: () =>
      readFileSync(auditLog, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ msg }) => msg === "position.set"),
    countCopiesById: async () => {
      const ids = (await scene.readAll(scene.egress)).map((copy) => getText(copy, "topicsync.event") ?? "");
      return Map.groupBy(ids, (id) => id);
    },
  };
}

describe("topicsync positions", () => {
  it("shows the positions of every consumer, and the logs", async () => {
    const { list, cli } = await createScene();
    const views = await list();
    assert.deepEqual(
      views.map(({ consumer, partition, offset, logStart, logEnd }) => [
        ...[consumer, partition, offset, logStart],
        // Also the markers of transactions.
        offset === null ? logEnd : logEnd === offset,
      ]),
      [
        ["announcements", 0, 10, 0, true],
        ["dead-letters.announcements", 0, null, 0, 0],
        ["events", 0, 10, 0, true],
        ["events", 1, 10, 0, true],
        ["dead-letters.events", 0, null, 0, 0],
      ],
    );
    assert.ok(views.every(({ clusterId, otherCluster }) => clusterId !== null && otherCluster === null));
    assert.deepEqual(await list("events"), views.slice(2, 4));
    const { output } = await cli("positions", "announcements");
    assert.match(output, /announcements +│ \S+-0 +│ 10 +│ 1 +│ 0 +│ 10 /);
  });

  it("says what a change would read again or skip, and changes nothing then", async () => {
    const { set, list, cli, readAudit } = await createScene();
    const before = await list();
    const plan = async (...args: string[]) =>
      (await set("events", ...args, "--dry-run")).map(({ partition, to, readAgain, skipped }) => [
        ...[partition, to, readAgain, skipped],
      ]);
    assert.deepEqual(await plan("--beginning"), [
      [0, 0, 10, 0],
      [1, 0, 10, 0],
    ]);
    assert.deepEqual(await plan("--partition", "1", "--to-offset", "4"), [[1, 4, 6, 0]]);
    assert.deepEqual(await plan("--to-time", "2020-01-01T00:00:00+01:00", "-p", "0"), [[0, 0, 10, 0]]);
    assert.deepEqual(await plan("--to-time", new Date(Date.now() + 60_000).toISOString(), "-p", "0"), [
      [0, 10, 0, 0],
    ]);
    assert.deepEqual(await plan("--end"), await plan("--to-current"));
    const { output } = await cli("positions", "set", "announcements", "--to-offset", "7", "--dry-run");
    assert.match(output, /would be[^]*│ 10 +│ 7 +│ reads 3 again/);
    assert.deepEqual(await list(), before);
    assert.deepEqual(readAudit(), []);
  });

  it("sets the position of a running router, which forwards the events again under the same ids", async () => {
    const scene = await createScene();
    const { set, countCopiesById, events, groupId, readAudit } = scene;
    await set("events", "--partition", "1", "--to-offset", "6");
    await scene.produce(...createEvents(10, 11, 1));
    await until("it has forwarded from there", async () => (await countCopiesById()).has(`${events}-1-10`));
    const counts = [...(await countCopiesById())].map(([id, copies]) => [id, copies.length] as const);
    const repeated = counts.filter(([, count]) => count > 1);
    assert.deepEqual(
      repeated.toSorted(),
      [6, 7, 8, 9].map((offset) => [`${events}-1-${offset}`, 2]),
    );
    assert.equal(counts.length, 21);
    assert.deepEqual(
      readAudit().map(({ via, group, topic, partition, from, to }) => ({
        via,
        group,
        topic,
        partition,
        from,
        to,
      })),
      [{ via: "cli", group: groupId, topic: events, partition: 1, from: 10, to: 6 }],
    );
  });

  it("sets the position of a router while it forwards without a pause", async () => {
    const scene = await createScene();
    const { set, routed, countCopiesById } = scene;
    const isSet = new AbortController();
    let sent = 10;
    const sending = (async () => {
      while (!isSet.signal.aborted) await scene.produce(...createEvents(sent, (sent += 20)));
    })();
    await set("events", "--partition", "0", "--beginning").finally(() => {
      isSet.abort();
    });
    await sending;
    await routed();
    const counts = await countCopiesById();
    assert.equal(counts.size, sent + 10);
    const repeated = [...counts.values()].filter((copies) => copies.length > 1);
    assert.ok(repeated.length >= 10);
    // Only what it had forwarded before.
    assert.ok(repeated.every((copies) => copies.length === 2));
  });

  it("sets the position of a running sync, which reads on from there", async () => {
    const scene = await createScene();
    const { set, send, announce, reached, topics, service } = scene;
    // Reading an announcement again changes nothing, unless it is of a topic that is gone.
    await set("announcements", "--to-offset", "3");
    await send({ ...defineTopic("id-20", "eventType=X"), name: "new" });
    await scene.stored(11);
    await reached(11);
    const fences = service.log.filter(({ msg }) => /position moved by another consumer/.test(String(msg)));
    assert.ok(fences.length <= 1);
    // What is skipped is not applied.
    await set("announcements", "--end");
    await service.stop();
    await announce(30, 35);
    await set("announcements", "--end");
    assert.equal(await topics.countDocuments({ topic_id: "id-30" }), 0);
  });

  it("rejects bad input with what to write instead", async () => {
    const { cli } = await createScene();
    const cases: [args: string[], code: number, message: RegExp][] = [
      [["events"], 64, /choose one of --to-offset/],
      [["events", "--end", "--beginning"], 64, /choose one of/],
      [["event", "--end"], 64, /Allowed choices are announcements/],
      [["events", "--to-offset", "-1"], 64, /whole number/],
      [["events", "--to-offset", "1e3"], 64, /whole number/],
      [["events", "--to-time", "yesterday"], 64, /time zone/],
      [["events", "--to-time", "2026-11-25T09:30:00"], 64, /time zone/],
      [["events", "--end", "--partition", "x"], 64, /--partition .*whole number/],
      [["events", "--end", "--partition", "7"], 3, /has no partition 7; it has 2/],
      [["events", "--to-offset", "11"], 3, /offset 11 is not in the log of partition 0, which has 0 to 10/],
      [["push-feedback", "--end"], 78, /KAFKA_PUSH_FEEDBACK_TOPIC is not set/],
    ];
    for (const [args, code, message] of cases) {
      const end = await cli("positions", "set", ...args);
      assert.equal(end.code, code, `${args.join(" ")}: ${end.errors}`);
      assert.match(end.errors, message);
    }
  });
});
