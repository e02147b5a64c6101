/**
 * Every operation that changes topics × where a topic is × where it goes, or where another one of the request
 * is × whether a foreign topic had its external id before. Nothing is changed unless all of it is in the
 * caller's namespaces, and what was there before neither hinders nor shows.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { KnownTopicView, TopicLookUpReply } from "../../../schemas/topics/sets.ts";
import { operations } from "../../../docs/contracts.ts";
import { changeKinds } from "../../../schemas/topics/changes.ts";
import { collections } from "../../../src/storage/names.ts";
import { digestDefinition } from "../../../src/plans/desired.ts";
import { planActions } from "../../../src/plans/plan.ts";
import { createBackfillRecord } from "../../support/backfills.ts";
import { call, type HttpResponse } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { service } from "../../support/shared-service.ts";

const [own, foreign] = [unique("own"), unique("foreign")];
const v1 = "/api/topicsync/v1";

/** Callers who may change the topics of one namespace, and what they may read. */
const callers = new Map<"blind" | "seeing", string>();
let database = "";
service.prepare(async () => {
  callers.set(
    "blind",
    await createKey(service.url, `topics.write@${own}`, `topics.read@${own}`, "events.read"),
  );
  callers.set("seeing", await createKey(service.url, `topics.write@${own}`, "topics.read", "events.read"));
  database = (await call(`${service.url}${v1}/database`, { method: "GET" })).json.id;
});

interface Attempt {
  readonly method?: "PUT";
  readonly path: string;
  readonly body?: object;
}

const send = ({ method, path, body }: Attempt, key?: string): Promise<HttpResponse> =>
  call(service.url + path, {
    ...(method === "PUT" && { method, headers: { "If-Match": "*" } }),
    ...(body !== undefined && { body }),
    ...(key !== undefined && { key }),
  });

async function succeed(attempt: Attempt): Promise<HttpResponse> {
  const response = await send(attempt);
  assert.ok(response.status < 300, response.text);
  return response;
}

const toBody = (namespace: string, externalId = unique("topic")) => ({
  ...{ externalId, name: unique("name"), namespace, contentQuery: "a=1" },
});

const change = (...changes: readonly object[]): Attempt => ({
  path: `${v1}/topic-changes`,
  body: { changes },
});

const secret = unique("secret");
/** Whether a foreign topic had the external ids of topics before, which it left described. */
const ids = { areUsed: false };

async function createId(): Promise<string> {
  const externalId = unique("topic");
  if (!ids.areUsed) return externalId;
  const topic = toBody(foreign, externalId);
  await succeed(change({ kind: "create", topic }));
  await succeed({ method: "PUT", path: `${v1}/topics/${externalId}/details`, body: { owner: secret } });
  await succeed(change({ kind: "disable", externalId, version: 1 }));
  return externalId;
}

/** Creates a topic that moves through these namespaces. Returns its external id. */
async function createTopic(...through: readonly string[]): Promise<string> {
  const externalId = await createId();
  for (const [version, namespace] of through.entries()) {
    const topic = toBody(namespace, externalId);
    await succeed(
      change(version === 0 ? { kind: "create", topic } : { kind: "change", externalId, version, topic }),
    );
  }
  return externalId;
}

async function createDisabled(...through: readonly string[]): Promise<string> {
  const externalId = await createTopic(...through);
  await succeed({ path: `${v1}/topics/${externalId}/disable` });
  return externalId;
}

async function lookUp(externalId: string): Promise<KnownTopicView | undefined> {
  const { json } = await succeed({ path: `${v1}/topic-look-up`, body: { externalIds: [externalId] } });
  return (json as TopicLookUpReply).topics[0];
}

/** What a change of a set says of a topic as it is stored. */
async function readExpected(externalId: string) {
  const { topic, details } = (await lookUp(externalId)) ?? {};
  const detailsVersion = details?.version ?? 0;
  if (!topic) return { externalId, detailsVersion, expects: null };
  const { id, version } = topic;
  const digest = digestDefinition(topic);
  return { externalId, detailsVersion, expects: { id, version, digest } };
}

/** A change of a set. The topic itself changes only if a namespace is given. */
function toApply(
  action: string,
  expected: Awaited<ReturnType<typeof readExpected>>,
  after?: { readonly externalId: string; readonly namespace?: string | undefined },
): Attempt {
  const definition = after?.namespace === undefined ? after : toBody(after.namespace, after.externalId);
  const next = after && { ...definition, path: "topics.yaml", owner: "me" };
  return toBatch({ action, ...expected, ...(next && { after: next }) });
}

const toBatch = (one: object, set = unique("set")): Attempt => ({
  path: `${v1}/topic-sets/${encodeURIComponent(set)}/changes`,
  body: {
    ...{ database, plan: "0123456789abcdef", total: 1 },
    changes: [{ ...one, warnings: [], notes: [] }],
  },
});

/** The requests that touch two places, by operation; those of operations with one place ignore the other. */
type ToAttempts = (one: string, other: string) => readonly Attempt[] | Promise<readonly Attempt[]>;
const attempts: Readonly<Record<string, ToAttempts>> = {
  createTopic: (one) => [{ path: "/api/svc_api_notif_mgmt/topic", body: toBody(one) }],
  checkTopic: (one) => [{ path: `${v1}/topic-check`, body: toBody(one) }],
  async previewImpact(one, other) {
    const [externalId, second] = [await createTopic(one), await createTopic(other)];
    return [[{ externalId, namespace: other }], [{ externalId }, { externalId: second }]].map((changes) => ({
      ...{ path: `${v1}/impact`, body: { changes } },
    }));
  },
  async changeTopic(one, other) {
    const externalId = await createTopic(one);
    const id = (await lookUp(externalId))?.topic?.id;
    return [toBody(other, externalId), toBody(other)].flatMap((body) => [
      { method: "PUT", path: `${v1}/topics/${body.externalId === externalId ? externalId : id}`, body },
    ]);
  },
  async changeTopics(one, other) {
    const version = 1;
    const [a, b, c, d] = await Promise.all([one, one, one, other].map((place) => createTopic(place)));
    const [e, f] = [await createDisabled(one), await createDisabled(one)];
    const create = (namespace: string) => ({ kind: "create", topic: toBody(namespace) });
    const disable = (externalId: string | undefined) => ({ kind: "disable", externalId, version });
    return [
      change({ kind: "change", externalId: a, version, topic: toBody(other, a) }),
      change({ kind: "change", externalId: b, version, topic: toBody(other) }),
      change({ kind: "enable", externalId: e, version, topic: toBody(other, e) }),
      change({ kind: "enable", externalId: f, version }, disable(d)),
      change(create(one), create(other)),
      change(disable(c), create(other)),
    ];
  },
  async restoreTopic(one, other) {
    const ids = [await createTopic(other, one), await createDisabled(other, one)];
    return ids.map((externalId) => ({ path: `${v1}/topics/${externalId}/restore`, body: { version: 1 } }));
  },
  describeTopic: async (one) => [
    { method: "PUT", path: `${v1}/topics/${await createTopic(one)}/details`, body: { owner: "me" } },
  ],
  disableTopic: async (one) => [{ path: `${v1}/topics/${await createTopic(one)}/disable` }],
  enableTopic: async (one) => [{ path: `${v1}/topics/${await createDisabled(one)}/enable` }],
  createBackfill: async (one) => [
    { path: `${v1}/topics/${await createTopic(one)}/backfills`, body: { from: "2026-11-01T00:00:00Z" } },
  ],
  async cancelBackfill(one) {
    const record = createBackfillRecord(unique("topic"), one);
    await service.db.collection<{ _id: string }>(collections.backfills).insertOne(record);
    return [{ path: `${v1}/backfills/${record._id}/cancel` }];
  },
  async applyTopicChanges(one, other) {
    const toChange = async (action: string, next?: string): Promise<Attempt> => {
      const externalId = await createTopic(one);
      return toApply(action, await readExpected(externalId), {
        ...{ externalId: next ?? externalId, namespace: other },
      });
    };
    return [await toChange("change"), await toChange("rename", unique("renamed"))];
  },
};
/** Without a router there are no events to read. */
const needRouter = ["previewImpact", "createBackfill"];
/** Replays need dead letters; their second place is tested in `access-namespaces.test.ts`. */
const elsewhere = ["replayDeadLetters"];

/** All that is stored of both namespaces. */
const readStored = async (): Promise<string> => {
  const { topics, retiredTopics, topicDetails, topicSets, backfills } = collections;
  const found = [topics, retiredTopics, topicDetails, topicSets, backfills].map((name) =>
    service.db
      .collection(name)
      .find({ namespace: { $in: [own, foreign] } })
      .sort({ _id: 1 })
      .toArray(),
  );
  return JSON.stringify(await Promise.all(found));
};

/** Asserts that requests are refused, change nothing, and tell nothing of the other namespace. */
async function assertRefused(
  attempts: readonly Attempt[],
  which: readonly ("blind" | "seeing")[] = ["blind", "seeing"],
): Promise<void> {
  const stored = await readStored();
  for (const attempt of attempts)
    for (const caller of which) {
      const { status, text } = await send(attempt, callers.get(caller));
      const context = `${caller}: ${status} ${text} to ${JSON.stringify(attempt)}`;
      assert.ok(status === 403 || (status === 404 && caller === "blind"), context);
      const isHidden = caller === "blind" && !JSON.stringify(attempt).includes(foreign);
      assert.ok(!isHidden || !text.includes(foreign), context);
    }
  assert.equal(await readStored(), stored);
}

describe("an operation that changes topics in some namespaces", () => {
  const served = operations.filter(
    ({ perNamespace, access }) => perNamespace === true && !access.endsWith("read"),
  );

  it("has a row here", () => {
    assert.deepEqual(
      [...Object.keys(attempts), ...elsewhere].toSorted(),
      served.map(({ id }) => id).toSorted(),
    );
  });

  for (const [id, toAttempts] of Object.entries(attempts))
    it(`changes what is in them, and nothing that is or goes elsewhere: ${id}`, async () => {
      await assertRefused(await toAttempts(foreign, foreign));
      if (toAttempts.length > 1)
        await assertRefused([...(await toAttempts(own, foreign)), ...(await toAttempts(foreign, own))]);
      for (const attempt of await toAttempts(own, own)) {
        const { status, text } = await send(attempt, callers.get("blind"));
        assert.ok(status < 300 || (needRouter.includes(id) && status === 404), text);
      }
    });

  for (const [id, toAttempts] of Object.entries(attempts))
    it(`takes no notice of a foreign topic that had an external id before: ${id}`, async () => {
      ids.areUsed = true;
      const all = await Promise.resolve(toAttempts(own, own)).finally(() => {
        ids.areUsed = false;
      });
      for (const attempt of all) {
        const { status, text } = await send(attempt, callers.get("blind"));
        assert.ok(status < 300 || (needRouter.includes(id) && status === 404), text);
        assert.ok(!text.includes(secret), text);
      }
      const shown = await call(`${service.url}${v1}/topics?limit=999`, {
        ...{ method: "GET", key: callers.get("blind") ?? "" },
      });
      assert.ok(!shown.text.includes(secret), shown.text);
    });

  it("tries every kind of change", async () => {
    const kinds = JSON.stringify(await attempts["changeTopics"]?.(own, own));
    for (const kind of changeKinds) assert.ok(kinds.includes(`"kind":"${kind}"`), kind);
  });
});

describe("changes of a set", () => {
  it("touch no topic elsewhere, whatever else they say", async () => {
    const [mine = "", mine2 = "", theirs = "", theirs2 = ""] = await Promise.all(
      [own, own, foreign, foreign].map((place) => createTopic(place)),
    );
    const present = await Promise.all([unique("nothing"), mine, theirs].map(readExpected));
    const next = [unique("nothing"), mine2, theirs2];
    const ends = (externalId: string) => [
      undefined,
      ...[externalId, ...next].flatMap((id) =>
        [undefined, own, foreign].map((namespace) => ({ externalId: id, namespace })),
      ),
    ];
    const changes = planActions.flatMap((action) =>
      present.flatMap((one) => ends(one.externalId).map((end) => toApply(action, one, end))),
    );
    const touchesOther = (one: Attempt): boolean =>
      [foreign, theirs, theirs2].some((value) => JSON.stringify(one).includes(`"${value}"`));
    await assertRefused(changes.filter(touchesOther), ["blind"]);
    for (const attempt of changes.filter((one) => !touchesOther(one))) {
      const { status, text } = await send(attempt, callers.get("blind"));
      assert.ok([200, 400, 412].includes(status), `${status} ${text} to ${JSON.stringify(attempt)}`);
    }
  });

  it("store nothing that other operations reject", async () => {
    const long = "x".repeat(1_001);
    const after = { ...toBody(own), path: "topics.yaml" };
    const toCreate = (changed: object, set?: string): Attempt => {
      const next = { ...after, ...changed };
      const { externalId } = next;
      return toBatch({ action: "create", externalId, detailsVersion: 0, expects: null, after: next }, set);
    };
    const rejected = [
      ...["externalId", "name"].flatMap((member) =>
        ["", long, "a\0b", "\ud800"].map((value) => toCreate({ [member]: value })),
      ),
      ...["namespace", "headerQuery", "contentQuery", "path"].flatMap((member) =>
        ["a\0b", "\ud800"].map((value) => toCreate({ [member]: value })),
      ),
      ...[{ namespace: long }, { replacedBy: after.externalId }, { name: undefined }, { set: "<b>" }].map(
        (one) => toCreate(one),
      ),
      toCreate({ consumers: ["a", "a"].map((name) => ({ name })) }),
      toCreate({}, "<b>\u202e"),
    ];
    for (const attempt of rejected) {
      const { status, text } = await send(attempt, callers.get("blind"));
      assert.equal(status, 400, `${text} to ${JSON.stringify(attempt)}`);
    }
    assert.equal(await lookUp(after.externalId), undefined);
    assert.equal((await send(toCreate({}), callers.get("blind"))).status, 200);
  });
});
