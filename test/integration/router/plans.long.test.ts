import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { ImpactResult } from "../../../schemas/impact.ts";
import type { TopicPlanReport } from "../../../schemas/topic-plan.ts";
import { commitOffsets, joinGroup } from "../../support/consumer-groups.ts";
import { useFolder } from "../../support/folder.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { createEvent, routerStage } from "../../support/router-scene.ts";
import { bootstrap, runCli } from "../../support/service.ts";
import { entry, toFile } from "../../support/topic-files.ts";

const { kafka, admin, routerScene } = routerStage();
const folder = useFolder();

const toReport = (output: string) => JSON.parse(output) as TopicPlanReport & { impact?: ImpactResult };

/** A service with topics of a set, and plans of its files over the database and over HTTP. */
async function createScene(egressTopic: string, ids: readonly string[]) {
  const scene = routerScene({ KAFKA_EGRESS_TOPIC: egressTopic });
  await scene.createTopics();
  const service = await scene.start();
  const overHttp = {
    ...{ TOPICSYNC_STACK: "none", TOPICSYNC_USER: bootstrap.user, TOPICSYNC_PASSWORD: bootstrap.password },
  };
  const name = `${unique("file")}.yaml`;
  const file = folder.createFile(name, "");
  const write = (entries: Parameters<typeof toFile>[0]): void => {
    folder.createFile(name, toFile(entries));
  };
  const common = ["topics", "plan", file, "--origin", "here", "--prune", "--json"];
  write(ids.map((id) => entry(id, { headerQuery: `eventType=${id}` })));
  const applied = await runCli(["topics", "apply", file, "--origin", "here", "--yes"], scene.settings);
  assert.equal(applied.code, 0, applied.errors);
  return {
    scene,
    write,
    plans: [
      (...args: string[]) => runCli([...common, ...args], scene.settings),
      (...args: string[]) => runCli([...common, ...args, "--server", service.url], overHttp),
    ],
  };
}

describe("plans of topics that are read", () => {
  it("say who reads them, and disable them only if that is wanted", async () => {
    const prefix = unique("to");
    const ids = ["changed", "gone", "left", "old", "stopped"];
    const { write, plans } = await createScene(`${prefix}.{externalId}`, ids);
    await createKafkaTopics(admin, ...ids.map((id) => ({ topic: `${prefix}.${id}`, numPartitions: 1 })));
    await Promise.all(
      ["changed", "gone", "left", "old"].map((id) =>
        joinGroup(kafka, { groupId: `${prefix}-of-${id}`, topic: `${prefix}.${id}`, offset: 0 }),
      ),
    );
    await commitOffsets(kafka, [{ groupId: `${prefix}-away`, topic: `${prefix}.stopped`, offset: 0 }]);
    write([
      entry("changed", { headerQuery: "eventType=other" }),
      entry("left", { headerQuery: "eventType=left", owner: "noc" }),
      entry("new", { headerQuery: "eventType=new", renamedFrom: "old" }),
    ]);
    const reader = (id: string): string => `${prefix}-of-${id} (1 member, lag 0)`;
    for (const plan of plans) {
      const { code, output } = await plan();
      assert.equal(code, 3);
      const report = toReport(output);
      assert.deepEqual(report.blocked, [
        {
          externalId: "gone",
          code: "HAS_CONSUMERS",
          message: `is read by ${reader("gone")}; with --even-if-read it is disabled`,
        },
      ]);
      const listNotes = (made: TopicPlanReport): unknown[] =>
        made.plan.changes.map(({ action, externalId, notes }) => [action, externalId, notes[0]]).toSorted();
      const others = [
        ["change", "changed", `read by: ${reader("changed")}`],
        ["describe", "left", undefined],
      ];
      const last = [
        ["disable", "stopped", `read by: ${prefix}-away (0 members, lag 0)`],
        ["rename", "old", `read by: ${reader("old")}`],
      ];
      assert.deepEqual(listNotes(report), [...others, ...last]);
      const forced = await plan("--even-if-read");
      assert.equal(forced.code, 0, forced.errors);
      const disabled = ["disable", "gone", `read by: ${reader("gone")}`];
      assert.deepEqual(listNotes(toReport(forced.output)), [...others, disabled, ...last]);
    }
  });

  it("do not guess who reads a topic whose egress topic is that of all", async () => {
    const egress = unique("to");
    const { write, plans } = await createScene(egress, ["a", "b"]);
    await joinGroup(kafka, { groupId: `${egress}-group`, topic: egress, offset: 0 });
    write([entry("a", { headerQuery: "eventType=a" })]);
    for (const plan of plans) {
      const { code, output, errors } = await plan();
      assert.equal(code, 0, errors);
      assert.deepEqual(
        toReport(output).plan.changes.map(({ action, notes }) => [action, notes]),
        [["disable", []]],
      );
    }
  });
});

describe("a plan with --impact", () => {
  it("counts the same events over HTTP as over the database", async () => {
    const { scene, write, plans } = await createScene(unique("to"), ["changed", "gone", "old"]);
    const types = ["changed", "changed", "gone", "old", "other"];
    await scene.produce(...types.map((type) => ({ value: createEvent(type) })));
    write([
      entry("changed", { headerQuery: "eventType=changed,other" }),
      entry("created", { headerQuery: "eventType=old" }),
      entry("new", { headerQuery: "eventType=other", renamedFrom: "old" }),
    ]);
    for (const plan of plans) {
      const { code, output, errors } = await plan("--impact");
      assert.equal(code, 0, errors);
      assert.deepEqual(
        toReport(output)
          .impact?.topics.map(({ externalId, change, newly, noLonger, still }) => [
            ...[externalId, change, newly, noLonger, still],
          ])
          .toSorted(),
        [
          ["changed", "widened", 1, 0, 2],
          ["created", "created", 1, 0, 0],
          ["gone", "removed", 0, 1, 0],
          ["new", "disjoint", 1, 1, 0],
        ],
      );
      const [last] = toReport((await plan("--impact", "1")).output).impact?.topics ?? [];
      assert.ok((last?.newly ?? 9) + (last?.still ?? 0) <= 1, output);
    }
    write(Array.from({ length: 101 }, (_, at) => entry(`n${at}`)));
    const many = await plans[1]?.("--impact", "--max-deletes", "9");
    assert.equal(many?.code, 3);
    assert.match(many.errors, /changes the filters of 104 topics, .* at most 100/);
  });
});
