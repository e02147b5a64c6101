import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { PlanError } from "@topicsync/lib/errors";
import { allowAll } from "../../support/allow-all.ts";
import { createApply } from "../../../src/plans/apply.ts";
import type { ApplyAccess } from "../../../src/plans/apply-access.ts";
import type { DesiredTopic } from "../../../src/plans/desired.ts";
import { readDriftPage } from "../../../src/plans/drift.ts";
import { noDetails, toNextDetails } from "../../../src/topics/details/details.ts";
import type { DefinitionChange } from "../../../src/topics/definition-change.ts";
import type { Source, Topic, TopicDefinition } from "../../../src/topics/topic.ts";
import { createDesired, createMemorySets, everywhere, toDesiredSet } from "./memory-sets.ts";

/** Members of a set, and a plan of a change of each. */
async function createScene(...stored: readonly DesiredTopic[]) {
  const world = createMemorySets();
  const plan = async (files: readonly DesiredTopic[]) =>
    (await world.plan(toDesiredSet(files), { prune: true })).plan.changes;
  await world.apply(await plan(stored), { plan: "first" });
  const { table } = world;
  return {
    ...world,
    plan,
    /** Changes what is stored of a topic, behind the back of everything. */
    tamper: (externalId: string, changed: Partial<Topic>): void => {
      table.topics = table.topics.map((one) =>
        one.externalId === externalId ? { ...one, ...changed } : one,
      );
    },
    describe: (externalId: string, owner: string): void => {
      const [topic, details] = [world.read().topics.get(externalId), world.read().details.get(externalId)];
      assert.ok(topic !== undefined);
      const at = new Date("2026-02-01");
      world.putDetails(
        toNextDetails(details, { topic, details: { ...noDetails, owner }, by: "mallory", at }),
      );
    },
    change: (...changes: DefinitionChange[]) =>
      world.topics.change(changes, { user: "mallory", check: allowAll }),
  };
}

const requireDefinition = (externalId: string, name?: string): TopicDefinition =>
  createDesired(externalId, name === undefined ? {} : { name }).definition ?? assert.fail();
const byChannel: Source = { kind: "announcement", topic: "channel", partition: 2, offset: 17 };

describe("an apply", () => {
  const on = /at 20\d\d-\S+Z\.$/;

  it("makes nothing of a batch in which a topic is not as planned, and says who changed it", async () => {
    const mallory = { kind: "http", user: "mallory" } as const;
    type Scene = Awaited<ReturnType<typeof createScene>>;
    const cases: [change: (scene: Scene) => unknown, reason: string][] = [
      [
        ({ tamper }) => {
          tamper("b", { version: 2, source: mallory });
        },
        '"b" has version 2, not 1: the user "mallory" changed it',
      ],
      [
        ({ tamper }) => {
          tamper("b", { version: 2, source: byChannel });
        },
        '"b" has version 2, not 1: the announcement channel-2-17 changed it',
      ],
      // The version alone proves nothing after a backup was restored.
      [
        ({ tamper }) => {
          tamper("b", { name: "z" });
        },
        '"b" has another definition than its version 1 in the plan: the user "ann" changed it',
      ],
      [
        ({ tamper }) => {
          tamper("b", { id: "0" });
        },
        '"b" is another topic now: the user "ann" changed it',
      ],
      [
        ({ tamper }) => {
          tamper("b", { id: "0", ...requireDefinition("b", "y") });
        },
        '"b" is another topic now: the user "ann" changed it',
      ],
      [
        ({ change }) => change({ kind: "disable", externalId: "b" }),
        '"b" had version 1 and is not active any more.',
      ],
      [
        ({ describe }) => {
          describe("b", "x");
        },
        'the details of "b" have version 2, not 1: "mallory" changed them',
      ],
      [
        ({ change }) => change({ kind: "create", definition: requireDefinition("c", "z") }),
        '"c" exists now: the user "mallory" changed it',
      ],
      [
        ({ change }) => change({ kind: "create", definition: requireDefinition("other", "y") }),
        "A topic with this combination already exists.",
      ],
    ];
    for (const [tamper, reason] of cases) {
      const scene = await createScene(createDesired("a"), createDesired("b"));
      const files = [
        createDesired("a", { name: "x" }),
        createDesired("b", { name: "y" }),
        createDesired("c"),
      ];
      const changes = await scene.plan(files);
      await tamper(scene);
      const before = scene.read();
      await assert.rejects(scene.apply(changes, { plan: "second" }), (error: unknown) => {
        assert.ok(error instanceof PlanError);
        const [first = "", last] = error.message.split("\n");
        assert.ok(first.startsWith(reason), first);
        if (reason.endsWith("it")) assert.match(first, on);
        assert.equal(last, "Nothing of this batch was changed. Plan again.");
        return true;
      });
      assert.deepEqual(scene.read(), before);
    }
  });

  it("does not mind changes of other topics, and what is disabled already", async () => {
    const scene = await createScene(...["a", "b", "c"].map((id) => createDesired(id)));
    const changes = await scene.plan([createDesired("a", { name: "x" }), createDesired("c")]);
    scene.describe("c", "mallory");
    await scene.change({ kind: "disable", externalId: "b" });
    assert.equal(await scene.apply(changes), 2);
    assert.equal(scene.read().details.get("b")?.membership, undefined);
    assert.equal(await scene.apply(changes), 0);
  });

  it("continues one whose details are missing, as without transactions", async () => {
    const scene = await createScene(createDesired("a"));
    const changes = await scene.plan([createDesired("a", { name: "x", owner: "noc" }), createDesired("b")]);
    const label = { set: "noc", plan: "second" };
    await scene.topics.change(
      [
        { kind: "change", externalId: "a", definition: requireDefinition("a", "x") },
        { kind: "create", definition: requireDefinition("b") },
      ],
      { user: "ann", check: allowAll, label },
    );
    await assert.rejects(scene.apply(changes, { plan: "third" }), PlanError);
    assert.equal(await scene.apply(changes, { plan: "second" }), 2);
    assert.deepEqual(
      await scene.plan([createDesired("a", { name: "x", owner: "noc" }), createDesired("b")]),
      [],
    );
    assert.deepEqual(
      scene.table.topics.map(({ version }) => version),
      [2, 1],
    );
  });

  it("is of a plan for its database", async () => {
    const { stores } = await createScene();
    const batch = { database: "another", set: "noc", plan: "p", total: 0, changes: [] };
    await assert.rejects(
      createApply(stores)(batch, { user: "ann", access: everywhere }),
      /for another database/,
    );
  });

  it("asks for each open change whether the caller may change the topic, and make it what it becomes", async () => {
    const scene = await createScene(createDesired("a"), createDesired("b"));
    const changes = await scene.plan([
      createDesired("A", { name: "a", renamedFrom: "a" }),
      createDesired("c"),
    ]);
    const asked: string[] = [];
    const ask = (...words: readonly string[]): void => {
      asked.push(words.join(" "));
      if (asked.length === 4) throw new Error("not allowed");
    };
    const access: ApplyAccess = {
      canChange: () => true,
      check: (found) => {
        ask("externalId" in found && typeof found.externalId === "string" ? found.externalId : "set");
      },
      checkDefinition: ({ externalId }) => {
        ask(externalId, "new");
      },
    };
    const before = scene.read();
    await assert.rejects(scene.apply(changes, { access }), /not allowed/);
    assert.deepEqual(asked, ["a", "A new", "c new", "b"]);
    assert.deepEqual(scene.read(), before);
  });
});

describe("drift", () => {
  it("is what something else than the set has changed, until it is changed back", async () => {
    const { listDrift, tamper, describe, change } = await createScene(
      ...["a", "b", "c", "d", "e"].map((id) => createDesired(id)),
    );
    const list = async (): Promise<Record<string, string>> => {
      const found: Record<string, string> = {};
      for (const one of await listDrift()) {
        assert.deepEqual([one.path, one.applied], ["a.yaml", 1]);
        found[`${one.externalId} ${one.version}`] = one.message.replace(/ at 20.*/, "");
      }
      return found;
    };
    assert.deepEqual(await list(), {});
    await change(
      { kind: "change", externalId: "b", definition: requireDefinition("b", "x") },
      { kind: "change", externalId: "c", definition: requireDefinition("C", "c") },
      { kind: "disable", externalId: "d" },
    );
    describe("e", "noc");
    assert.deepEqual(await list(), {
      "C 2": 'was renamed: its file has the external id "c"',
      "b 2": 'was changed by "mallory"',
      "d null": "is not active any more",
      "e 1": 'its details were changed by "mallory"',
    });
    tamper("b", { source: byChannel });
    assert.equal((await list())["b 2"], "was changed by the channel");
    tamper("b", { source: { kind: "http", user: "mallory" } });
    await change(
      { kind: "change", externalId: "b", definition: requireDefinition("b") },
      { kind: "change", externalId: "C", definition: requireDefinition("c") },
      { kind: "enable", externalId: "d" },
    );
    describe("e", "");
    assert.deepEqual(await list(), {});
  });

  it("is shown to those who may see what the topic is and was", async () => {
    const definition = { ...requireDefinition("b", "x"), namespace: "there" };
    const here = ["a", "b", "c"].map((id) => {
      const one = createDesired(id);
      return { ...one, definition: one.definition && { ...one.definition, namespace: "here" } };
    });
    const { reader, change } = await createScene(...here);
    await change(
      { kind: "change", externalId: "a", definition: { ...definition, externalId: "a", namespace: "here" } },
      { kind: "change", externalId: "b", definition: { ...definition, name: "y" } },
      { kind: "disable", externalId: "c" },
    );
    const list = async (...namespaces: readonly string[]) => {
      const among = namespaces.map((namespace) => ({ namespace, below: false }));
      const { drift } = await readDriftPage(reader, "noc", { after: undefined, namespaces: among });
      return drift.map(({ externalId }) => externalId);
    };
    assert.deepEqual(await list("here"), ["a", "c"]);
    assert.deepEqual(await list("there"), []);
    assert.deepEqual(await list("here", "there"), ["a", "b", "c"]);
  });

  it("is not a change of a definition that only the channel has, but that it has one no longer", async () => {
    const { plan, apply, listDrift, table, tamper } = await createScene(createDesired("a"));
    tamper("a", { source: byChannel });
    await apply(await plan([{ ...createDesired("a", { owner: "noc" }), definition: undefined }]));
    const list = async () => (await listDrift()).map(({ externalId }) => externalId);
    tamper("a", { name: "x", version: 9 });
    assert.deepEqual(await list(), []);
    tamper("a", { source: { kind: "http", user: "mallory" } });
    assert.deepEqual(await list(), ["a"]);
    table.topics = [];
    assert.deepEqual(await list(), []);
  });
});
