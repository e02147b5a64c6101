import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { ImpactResult } from "../../../schemas/impact.ts";
import type { TopicPlanReport } from "../../../schemas/topics/plan.ts";
import { useFolder } from "../../support/folder.ts";
import { unique } from "../../support/names.ts";
import { createEvent, routerStage } from "../../support/router-scene.ts";
import { bootstrap, runCli } from "../../support/service.ts";
import { entry, toFile } from "../../support/topic-files.ts";

const { routerScene } = routerStage();
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
    assert.match(many.errors, /filters of 104 topics change, .* at most 100/);
  });
});
