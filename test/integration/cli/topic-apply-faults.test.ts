/** Applies that are killed, and applies that run at once. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";

import { nodeOptions } from "../../support/commands.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { cli, environment } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";
import { entry, toFile, useTopicFiles } from "../../support/topic-files.ts";
import { getPort } from "../../unit/embedded/local.ts";

const createScene = useTopicFiles();
type Scene = ReturnType<typeof createScene>;

/** The n-th of these commands on this collection. */
interface Moment {
  readonly command: string;
  readonly collection?: string;
  readonly nth: number;
}

/** Applies a plan in a process of its own, which is killed when it sends a command. */
async function killApplyAt({ command, collection, nth }: Moment, file: string, { db }: Scene): Promise<void> {
  let left = nth;
  const started: ChildProcess[] = [];
  const proxy = await startMongoProxy(getPort(sharedStack().mongodb), {
    onCommand(sent) {
      if (!(command in sent) || (collection !== undefined && sent[command] !== collection)) return;
      left -= 1;
      if (left === 0) for (const child of started) child.kill("SIGKILL");
    },
  });
  const child = spawn(process.execPath, [...nodeOptions, cli, "topics", "apply", file], {
    env: environment({ MONGODB_URI: proxy.uri(db.databaseName) }),
    stdio: "ignore",
  });
  started.push(child);
  await once(child, "exit");
  assert.equal(child.signalCode, "SIGKILL", `it ended with ${child.exitCode} before ${command} ${nth}`);
}

const topicCollection = "svc_api_notif_mgmt_topic";
const count = 30;
const entries = (more: (at: number) => Readonly<Record<string, unknown>>) =>
  Array.from({ length: count }, (_, at) => entry(`t${at}`, more(at)));

describe("a killed apply", () => {
  const moments: readonly Moment[] = [
    { command: "update", collection: "topicsync_topic_versions", nth: 1 },
    { command: "update", collection: topicCollection, nth: 1 },
    { command: "update", collection: "topicsync_topic_details", nth: 1 },
    { command: "update", collection: "topicsync_topic_sets", nth: 1 },
    { command: "commitTransaction", nth: 1 },
  ];
  for (const moment of moments)
    it(`has made all changes or none, at ${moment.command} ${moment.collection ?? ""}`, async () => {
      const scene = createScene();
      const { write, apply, planTo, stored, details } = scene;
      write({ "a.yaml": toFile(entries(() => ({}))) });
      await apply();
      write({ "a.yaml": toFile(entries((at) => ({ contentQuery: `a=${at}`, owner: "noc" }))) });
      const file = await planTo();
      await killApplyAt(moment, file, scene);
      const changed = await stored.countDocuments({ content_query: { $ne: "" } });
      const described = await details.countDocuments({ owner: "noc" });
      assert.ok(changed === 0 || changed === count, `${changed} of ${count} topics are changed`);
      assert.equal(described, changed);
    });

  it("is continued by repeating it", async () => {
    const scene = createScene();
    const { write, planTo, run, stored, db } = scene;
    const ids = Array.from({ length: 520 }, (_, at) => `t${at}`);
    write({ "a.yaml": toFile(ids.map((id) => entry(id))) });
    const file = await planTo();
    await killApplyAt({ command: "insert", collection: topicCollection, nth: 2 }, file, scene);
    assert.equal(await stored.countDocuments(), 500);
    const set = await db
      .collection<{ _id: string; applies: unknown[] }>("topicsync_topic_sets")
      .findOne({ _id: "noc" });
    assert.partialDeepStrictEqual(set?.applies, [{ applied: 500, total: 520 }]);
    // The store would abort the open transaction after a minute.
    await db.admin().command({ killAllSessions: [] });
    await until("the plan is applied", async () => (await run("apply", file)).code === 0);
    assert.equal(await stored.countDocuments(), 520);
  });
});

describe("two applies of overlapping plans", () => {
  it("leave each topic as exactly one plan says, and one of them is stale", async () => {
    const { write, apply, planTo, run, stored } = createScene();
    write({ "a.yaml": toFile(entries(() => ({}))) });
    await apply();
    for (let round = 1; round <= 4; round += 1) {
      write({ "a.yaml": toFile(entries((at) => ({ contentQuery: `left=${round * 100 + at}` }))) });
      const left = await planTo();
      write({
        "a.yaml": toFile(
          entries((at) => ({
            contentQuery: at < 10 ? `right=${round * 100 + at}` : `left=${(round - 1) * 100 + at}`,
          })),
        ),
      });
      const right = await planTo();
      const ends = await Promise.all([run("apply", left), run("apply", right)]);
      assert.deepEqual(
        ends.map(({ code }) => code).toSorted(),
        [0, 3],
        ends.map(({ errors }) => errors).join(),
      );
      const winner = ends[0].code === 0 ? "left" : "right";
      const found = await stored.find({}).toArray();
      for (const { topic_id, content_query } of found.filter(
        ({ topic_id }) => Number(topic_id.slice(1)) < 10,
      ))
        assert.match(content_query, new RegExp(`^${winner}=${round}`), topic_id);
      write({ "a.yaml": toFile(entries((at) => ({ contentQuery: `left=${round * 100 + at}` }))) });
      await apply();
    }
  });
});
