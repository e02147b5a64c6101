/** Applies that are killed, and applies that run at once. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { describe, it } from "node:test";

import type { Document } from "mongodb";

import type { TopicPlanFile } from "../../../schemas/topics/plan.ts";
import { nodeOptions } from "../../support/commands.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { cli, environment } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";
import { entry, toActions, toFile, useTopicFiles } from "../../support/topic-files.ts";
import { getPort } from "../../support/local.ts";

const createScene = useTopicFiles();
type Scene = ReturnType<typeof createScene>;

/** The n-th of these commands on this collection. */
interface Moment {
  readonly command: string;
  readonly collection?: string;
  readonly nth: number;
}

/** Finds the command that an apply sends when it is killed. */
type FindMoment = (sent: Document) => boolean;

function countDown({ command, collection, nth }: Moment): FindMoment {
  let left = nth;
  return (sent) => {
    if (!(command in sent) || (collection !== undefined && sent[command] !== collection)) return false;
    left -= 1;
    return left === 0;
  };
}

/**
 * Applies a plan in a process of its own, which is killed when it sends a command. Aborts the transaction
 * that it leaves open, which would hold its topics for a minute, and slow the store down. Returns whether it
 * was killed before it ended.
 */
async function killApply(isMoment: FindMoment, file: string, { db }: Scene): Promise<boolean> {
  let session: unknown;
  const started: ChildProcess[] = [];
  const proxy = await startMongoProxy(getPort(sharedStack().mongodb), {
    onCommand(sent) {
      if (sent["startTransaction"] === true) session = sent["lsid"];
      if (isMoment(sent)) for (const child of started) child.kill("SIGKILL");
    },
  });
  const child = spawn(process.execPath, [...nodeOptions, cli, "topics", "apply", file], {
    env: environment({ MONGODB_URI: proxy.uri(db.databaseName) }),
    stdio: "ignore",
  });
  started.push(child);
  await once(child, "exit");
  assert.ok(session !== undefined, "it had begun a transaction");
  await db.admin().command({ killSessions: [session] });
  return child.signalCode === "SIGKILL";
}

async function killApplyAt(moment: Moment, file: string, scene: Scene): Promise<void> {
  assert.ok(await killApply(countDown(moment), file, scene), `it ended before ${moment.command}`);
}

const topicCollection = "svc_api_notif_mgmt_topic";
const count = 30;
const entries = (more: (at: number) => Readonly<Record<string, unknown>>) =>
  Array.from({ length: count }, (_, at) => entry(`t${at}`, more(at)));

/** Every write of an apply that creates, changes, renames, describes and disables topics. */
const writes: readonly Omit<Moment, "nth">[] = [
  { command: "update", collection: "topicsync_topic_versions" },
  { command: "update", collection: "svc_api_notif_mgmt_topic_retired" },
  { command: "delete", collection: topicCollection },
  { command: "update", collection: topicCollection },
  { command: "insert", collection: topicCollection },
  { command: "delete", collection: "topicsync_topic_details" },
  { command: "insert", collection: "topicsync_topic_details" },
  { command: "update", collection: "topicsync_topic_details" },
  { command: "update", collection: "topicsync_topic_descriptions" },
  { command: "update", collection: "topicsync_topic_sets" },
  { command: "update", collection: "topicsync_topic_usage" },
  { command: "delete", collection: "topicsync_topic_usage" },
  { command: "commitTransaction" },
];

describe("an apply that is killed", { concurrency: 3 }, () => {
  for (const write of writes)
    it(`has made all changes or none, at ${write.command} ${write.collection ?? ""}`, async () => {
      const scene = createScene();
      const { db, apply, plan, planTo, readAll } = scene;
      scene.write({ "a.yaml": toFile(entries(() => ({}))) });
      await apply();
      const usage = db.collection<{ _id: string }>("topicsync_topic_usage");
      await usage.insertOne({ _id: "t0" });
      const [, , , ...kept] = entries((at) => (at < 10 ? { owner: "noc" } : { contentQuery: `a=${at}` }));
      const renamed = entry("renamed", { name: "name of t0", renamedFrom: "t0" });
      scene.write({ "a.yaml": toFile([renamed, ...kept, entry("new")]) });
      const file = await planTo("--prune");
      const before = await readAll();
      await killApplyAt({ ...write, nth: 1 }, file, scene);
      const isUnchanged = isDeepStrictEqual(await readAll(), before);
      const { plan: rest } = await plan(["--prune"]);
      const all = toActions({ plan: JSON.parse(readFileSync(file, "utf8")) as TopicPlanFile });
      assert.deepEqual(toActions({ plan: rest }), isUnchanged ? all : {});
      assert.equal((await usage.findOne())?._id, isUnchanged ? "t0" : "renamed");
      assert.deepEqual(
        new Set(Object.values(all)),
        new Set(["create", "change", "rename", "describe", "disable"]),
      );
    });
});

/** How often an apply is killed. */
const kills = Number(process.env["APPLY_KILLS"] ?? 2);

describe("an apply of 500 changes", () => {
  it("has made all or none, whenever it is killed", async (test) => {
    const scene = createScene();
    const fill = (round: number): void => {
      const ids = Array.from({ length: 500 }, (_, at) => `t${at}`);
      const more = { contentQuery: `a=${round}`, owner: `owner ${round}` };
      scene.write({ "a.yaml": toFile(ids.map((id) => entry(id, more))) });
    };
    fill(0);
    await scene.apply();
    const outcomes: string[] = [];
    for (let round = 1; outcomes.length < kills; round += 1) {
      fill(round);
      const file = await scene.planTo();
      // The first transaction only shows whether the store has them. Then once at each of eight commands.
      let left = 3 + (round % 8);
      const wasKilled = await killApply(
        ({ autocommit }) => autocommit === false && (left -= 1) === 0,
        file,
        scene,
      );
      const [query, ...others] = await scene.stored.distinct("content_query");
      assert.deepEqual(others, []);
      const isMade = query === `a=${round}`;
      assert.deepEqual(await scene.details.distinct("owner"), [query?.replace("a=", "owner ")]);
      const versions = await scene.stored.distinct("version");
      assert.ok(versions.length <= 1);
      const replaced = await scene.db.collection("topicsync_topic_versions").countDocuments();
      assert.equal(replaced, 500 * ((versions[0] ?? 1) - 1));
      assert.equal(await scene.db.collection("topicsync_topic_descriptions").countDocuments(), replaced);
      if (wasKilled) outcomes.push(isMade ? "all" : "none");
      else assert.ok(isMade);
    }
    test.diagnostic(outcomes.toSorted().join(" "));
  });
});

describe("a killed apply", () => {
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
    await until("the plan is applied", async () => (await run("apply", file)).code === 0);
    assert.equal(await stored.countDocuments(), 520);
  });
});
