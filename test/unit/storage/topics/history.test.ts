/** The history after any changes, against what was noted while they were made. */
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import { createTopicHistory } from "../../../../src/storage/topics/history.ts";
import { createTopicDetailsStore } from "../../../../src/storage/topics/details.ts";
import { createTopicReader } from "../../../../src/storage/topics/reader.ts";
import { createTopicStore } from "../../../../src/storage/topics/topics.ts";
import { toDetails, toNextDetails } from "../../../../src/topics/details/details.ts";
import { replaceDetails } from "../../../../src/topics/details/service.ts";
import { DetailsConflictError } from "../../../../src/topics/details/store.ts";
import type { DefinitionChange } from "../../../../src/topics/definition-change.ts";
import { streamTopicsAt, type TopicVersion } from "../../../../src/topics/history.ts";
import { changeTopic } from "../../../../src/topics/changing.ts";
import { createTopicService } from "../../../../src/topics/service.ts";
import type { Topic } from "../../../../src/topics/topic.ts";
import { allowAll } from "../../../support/allow-all.ts";
import { applyAnnouncements } from "../../../support/apply-batch.ts";
import { connectDatabase, repeatWithoutLimit } from "../../../support/database.ts";
import { listHistory } from "../../../support/history-lines.ts";
import { unique } from "../../../support/names.ts";
import { createRandom } from "../../../support/random.ts";
import { createDefinition } from "../../topics/model.ts";

const { db, database, log } = await connectDatabase();
repeatWithoutLimit();
const store = createTopicStore(database, log, { historyRetentionDays: undefined });
const history = createTopicHistory(database);
const user = "ann";

/** One step takes a second, so that the steps can be told apart. */
let time = Date.UTC(2026, 0, 1);
const topics = createTopicService(store, { now: () => new Date(time) });
const key = { group: unique("group"), topic: unique("channel"), partition: 0 };
let offset = 0;
await store.claim(key);

async function announce(...sent: (readonly [string, string | undefined])[]): Promise<void> {
  const from = offset === 0 ? undefined : { offset, epoch: 1 };
  const to = { offset: offset + sent.length, epoch: 1 };
  const announcements = sent.map(([externalId, name], i) =>
    name === undefined
      ? ({ kind: "retire", offset: offset + i, externalId } as const)
      : ({ kind: "define", offset: offset + i, definition: createDefinition(externalId, name) } as const),
  );
  await applyAnnouncements({ store, topics, key, from, to, announcements });
  offset = to.offset;
}

const change = (...changes: DefinitionChange[]) => topics.change(changes, { user, check: allowAll });
const toChange = (externalId: string, name: string, as = externalId): DefinitionChange => ({
  kind: "change",
  externalId,
  definition: createDefinition(as, name),
});

async function listAt(at: Date, limit = 1_000): Promise<string[]> {
  const found: TopicVersion[] = [];
  let after: string | undefined;
  do {
    const page = await history.readAt(at, { namespaces: "all" }, { after, limit });
    found.push(...page.versions);
    after = page.next;
  } while (after !== undefined);
  return found.map(({ topic }) => format(topic));
}
const format = ({ externalId, name, id, version }: Topic): string => `${externalId} ${name} ${id} ${version}`;

const listVersions = (externalId: string, limit = 100): Promise<string[]> =>
  listHistory(history, externalId, limit);

beforeEach(async () => {
  for (const name of [
    "svc_api_notif_mgmt_topic",
    "svc_api_notif_mgmt_topic_retired",
    "topicsync_topic_versions",
    "topicsync_topic_details",
    "topicsync_topic_descriptions",
  ])
    await db.collection(name).deleteMany({});
  time += 1_000;
});

describe("the history of an external id", () => {
  it("has each version once, the latest first, in pages of any size", async () => {
    await topics.create({ externalId: "a", name: "a" }, user);
    time += 1_000;
    await change(toChange("a", "b"));
    time += 1_000;
    await announce(["a", "b"]);
    time += 1_000;
    await announce(["a", "c"], ["a", "d"], ["a", undefined], ["a", "e"], ["a", "f"]);
    const expected = [
      "a f 2 current",
      "a e 1 changed unseen",
      "a d 5 retired unseen",
      "a c 4 changed unseen",
      "a b 3 changed",
      "a b 2 adopted",
      "a a 1 changed",
    ];
    for (const limit of [100, 3, 1])
      assert.deepEqual((await listVersions("a", limit)).toSorted(), expected.toSorted());
    assert.equal((await listVersions("a"))[0], expected[0]);
    assert.deepEqual((await listVersions("a")).slice(-2), expected.slice(-2));
  });

  it("goes on before a rename, and ends with one", async () => {
    await topics.create({ externalId: "a", name: "a" }, user);
    time += 1_000;
    await change({ kind: "disable", externalId: "a" });
    time += 1_000;
    await changeTopic(topics, { kind: "enable", externalId: "a" }, { user: "ann", check: allowAll });
    time += 1_000;
    await change(toChange("a", "a", "b"));
    time += 1_000;
    await topics.create({ externalId: "a", name: "another" }, user);
    assert.deepEqual(await listVersions("b"), ["b a 3 current", "a a 2 renamed", "a a 1 disabled"]);
    assert.deepEqual(await listVersions("a"), ["a another 1 current", "a a 2 renamed", "a a 1 disabled"]);
    assert.equal((await history.findVersion("b", 1))?.topic.externalId, "a");
    assert.equal((await history.findAt("b", new Date(time - 2_000)))?.topic.version, 2);
    assert.equal(await history.findAt("b", new Date(time - 3_000 + 1)), undefined);
  });

  it("ignores a version that is still the stored one, as without transactions", async () => {
    const { topic } = await topics.create({ externalId: "a", name: "a" }, user);
    await store.change({
      ...{ removed: [], retired: [], updated: [], created: [], enabled: [], renamed: [] },
      replaced: [
        {
          ...{ topic, endedBy: { kind: "http", user }, endedOn: new Date(time + 5) },
          ...{ action: "changed", isTransient: false },
        },
      ],
    });
    assert.deepEqual(await listVersions("a"), ["a a 1 current"]);
    assert.deepEqual(await listAt(new Date(time)), [format(topic)]);
  });
});

for (const [what, opened] of [
  ["with transactions", database],
  ["without transactions", { ...database, startSession: () => undefined }],
] as const)
  describe(`the descriptions of a topic on a store ${what}`, () => {
    const details = createTopicDetailsStore(opened, { historyRetentionDays: undefined });
    const renaming = createTopicService(createTopicStore(opened, log, { historyRetentionDays: undefined }), {
      now: () => new Date(time),
    });
    const stores = { topicReader: createTopicReader(database), topicDetails: details };
    const describeTopic = (externalId: string, owner: string, version?: number) => {
      time += 1_000;
      return replaceDetails(
        stores,
        {
          ...{ externalId, details: toDetails({ owner }), version },
          ...{ user: owner || user, canSee: () => true, check: allowAll },
        },
        () => new Date(time),
      );
    };
    const findOwner = async (externalId: string, at: number): Promise<string | undefined> =>
      (await history.findDetailsAt([externalId], new Date(at)))[0]?.owner;

    it("are among its versions, by time, in pages of any size", async () => {
      await topics.create({ externalId: "a", name: "a" }, user);
      await describeTopic("a", "noc");
      time += 1_000;
      await change(toChange("a", "b"));
      await describeTopic("a", "ran");
      await describeTopic("a", "ran");
      const described = time;
      await describeTopic("a", "");
      time += 1_000;
      await change(toChange("a", "c"));
      const expected = [
        "a c 3 current",
        "a described 3 by ann: ran to ",
        "a described 2 by ran: noc to ran",
        "a b 2 changed",
        "a described 1 by noc:  to noc",
        "a a 1 changed",
      ];
      for (const limit of [100, 4, 3, 2, 1]) assert.deepEqual(await listVersions("a", limit), expected);
      assert.equal(await findOwner("a", described), "ran");
      assert.equal(await findOwner("a", described - 2_000), "noc");
      assert.equal(await findOwner("a", described - 4_000), undefined);
      assert.equal(await findOwner("a", time), "");
    });

    it("follow a rename, also when topics exchange their external ids", async () => {
      for (const id of ["a", "b"]) {
        await topics.create({ externalId: id, name: id }, user);
        for (const owner of [`${id}1`, `${id}2`]) await describeTopic(id, owner);
      }
      const before = time;
      time += 1_000;
      await renaming.change([toChange("a", "a", "b"), toChange("b", "b", "a")], { user, check: allowAll });
      assert.deepEqual(
        (await listVersions("b")).filter((line) => line.includes("described")),
        [
          "b described 3 by ann: a2 to a2",
          "b described 2 by b2: b1 to b2",
          "b described 1 by b1:  to b1",
          "a described 2 by a2: a1 to a2",
          "a described 1 by a1:  to a1",
        ],
      );
      assert.deepEqual([await findOwner("a", before), await findOwner("a", time)], ["a2", "b2"]);
      assert.equal((await details.find(["a"]))[0]?.changedOn.getTime(), time);
    });

    it("keep what another topic left under a new external id", async () => {
      for (const id of ["a", "b"]) await topics.create({ externalId: id, name: id }, user);
      await describeTopic("b", "left");
      await describeTopic("a", "moved");
      await change({ kind: "disable", externalId: "b" });
      time += 1_000;
      await renaming.change([toChange("a", "a", "b")], { user, check: allowAll });
      assert.deepEqual(
        (await listVersions("b")).filter((line) => line.includes("described")),
        [
          "b described 2 by ann: moved to moved",
          "a described 1 by moved:  to moved",
          "b described 1 by left:  to left",
        ],
      );
      assert.equal(await findOwner("b", time - 1), "left");
    });

    it("stay when the topic is retired and announced again", async () => {
      await announce(["a", "a"]);
      await describeTopic("a", "noc");
      await announce(["a", undefined]);
      await describeTopic("a", "ran");
      time += 1_000;
      await describeTopic("a", "new");
      assert.deepEqual([await findOwner("a", time - 1), await findOwner("a", time)], ["ran", "new"]);
      assert.deepEqual(
        (await listVersions("a")).filter((line) => line.includes("described")),
        [
          "a described 3 by new: ran to new",
          "a described 2 by ran: noc to ran",
          "a described 1 by noc:  to noc",
        ],
      );
    });

    it("are stored once by two users at once", async () => {
      await topics.create({ externalId: "a", name: "a" }, user);
      await describeTopic("a", "first");
      const attempts = await Promise.allSettled(["x", "y", "z"].map((owner) => describeTopic("a", owner, 1)));
      assert.equal(attempts.filter(({ status }) => status === "fulfilled").length, 1);
      const lines = await listVersions("a");
      assert.match(lines[0] ?? "", /^a described 2 by ([xyz]): first to \1$/);
      assert.deepEqual(lines.slice(1), ["a described 1 by first:  to first", "a a 1 current"]);
    });
  });

it("details that were not replaced in the end, as after a kill without transactions, are listed once", async () => {
  await topics.create({ externalId: "a", name: "a" }, user);
  const details = createTopicDetailsStore(database, { historyRetentionDays: undefined });
  const first = toNextDetails(undefined, {
    topic: { externalId: "a", name: "a", namespace: "" },
    ...{ details: toDetails({ owner: "noc" }), by: user, at: new Date(time) },
  });
  await details.replace(first, []);
  const never = { ...first, version: 7, owner: "never" };
  const replaced = [{ details: first, topicId: undefined, endedOn: new Date(time + 500) }];
  const unchecked = { ...database, startSession: () => undefined };
  await assert.rejects(
    createTopicDetailsStore(unchecked, { historyRetentionDays: undefined }).replace(never, replaced),
    DetailsConflictError,
  );
  assert.deepEqual(await listVersions("a"), ["a a 1 current", "a described 1 by ann:  to noc"].toReversed());
  assert.equal((await history.findDetailsAt(["a"], new Date(time + 900)))[0]?.owner, "noc");
});

describe("the topics at a time", () => {
  it("are what was stored then, in pages of any size", async () => {
    const ids: readonly [string, ...string[]] = ["a", "b", "c", "d", "é", "\u{1F600}", "\uFF5E"];
    const names: readonly [string, ...string[]] = ["u", "v", "w", "x", "y", "z", "t", "s", "r"];
    const random = createRandom(7);
    const moments: { at: Date; topics: string[] }[] = [];
    const rejected = (): undefined => undefined;
    for (let step = 0; step < 50; step += 1) {
      time += 1_000;
      const [id, other, name] = [random.pick(ids), random.pick(ids), random.pick(names)];
      await random.pick<() => Promise<unknown>>([
        () => topics.create({ externalId: id, name }, user).catch(rejected),
        () => change(toChange(id, name)).catch(rejected),
        () => change(toChange(id, name, other)).catch(rejected),
        () => change({ kind: "disable", externalId: id }).catch(rejected),
        () => change({ kind: "enable", externalId: id }).catch(rejected),
        () => announce([id, undefined], [other, undefined]),
        () => announce([id, name]),
        () => announce([id, undefined], [other, name], [other, random.pick(names)]),
      ])();
      const now = await db.collection("svc_api_notif_mgmt_topic").find().sort({ topic_id: 1 }).toArray();
      moments.push({
        at: new Date(time + 500),
        topics: now.map(
          (one) =>
            `${String(one["topic_id"])} ${String(one["topic_name"])} ${String(one["_id"])} ${Number(one["version"] ?? 1)}`,
        ),
      });
    }
    const distinct = new Set(moments.map(({ topics }) => topics.join())).size;
    assert.ok(distinct > 12, `${distinct}`);
    for (const { at, topics } of moments)
      for (const limit of [1_000, 2, 1]) assert.deepEqual(await listAt(at, limit), topics);
  });

  it("can be narrowed like the list of topics", async () => {
    for (const id of ["a", "b", "c"])
      await topics.create({ externalId: id, name: id, namespace: id === "c" ? "" : "n" }, user);
    const at = new Date(time);
    time += 1_000;
    await change(toChange("a", "other"), { kind: "disable", externalId: "b" });
    const found: string[] = [];
    for await (const { topic } of streamTopicsAt(history, at, { namespace: "n", namespaces: "all" }))
      found.push(topic.name);
    assert.deepEqual(found, ["a", "b"]);
  });
});
