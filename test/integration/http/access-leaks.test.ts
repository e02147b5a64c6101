/**
 * All that is stored of one namespace has a mark, and no answer to a caller who is limited to another one
 * contains it. The requests follow from the declarations of the operations.
 */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { operations } from "../../../docs/contracts.ts";
import type { Operation } from "../../../src/operations/framework/operation.ts";
import { limitableRights } from "../../../schemas/rights.ts";
import { collections } from "../../../src/storage/names.ts";
import { createBackfillRecord } from "../../support/backfills.ts";
import { call } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { service } from "../../support/shared-service.ts";

const v1 = "/api/topicsync/v1";

const [mine, mark] = [unique("mine"), unique("mark")];
/** Numbers have no namespace in their names. */
const markedCount = 987_654_321;
const marks = [mark, String(markedCount)];

/** Moved from one namespace to the other, and given again after it was disabled there. */
const ids = {
  ...{ own: unique("own"), foreign: `${mark}-topic`, moved: unique("moved"), reused: unique("reused") },
  ...{ set: unique("set"), foreignSet: `${mark}-set` },
};
const keys = { limited: "", unlimited: "" };
/** What a path or a body can name. */
const named = {
  topics: [ids.own, ids.foreign, ids.moved, ids.reused],
  sets: [ids.set, ids.foreignSet],
  deadLetters: [] as string[],
  backfills: [] as string[],
};

const toTopic = (externalId: string, namespace: string) => {
  const [name, contentQuery] =
    namespace === mine ? [unique("name"), "b=1"] : [`${mark}-${externalId}`, `b=1,${mark}`];
  return { externalId, name, namespace, headerQuery: "a=1", contentQuery };
};

async function send(method: string, path: string, body?: object): Promise<void> {
  const headers = { "If-Match": "*" };
  const { status, text } = await call(service.url + path, {
    ...{ method, ...(method === "PUT" && { headers }), ...(body !== undefined && { body }) },
  });
  assert.ok(status < 300, `${path}: ${text}`);
}

const create = (externalId: string, namespace: string) =>
  send("POST", "/api/svc_api_notif_mgmt/topic", toTopic(externalId, namespace));
const change = (externalId: string, namespace: string) =>
  send("PUT", `${v1}/topics/${externalId}`, toTopic(externalId, namespace));
const describeTopic = (externalId: string, text: string) =>
  send("PUT", `${v1}/topics/${externalId}/details`, { owner: text, description: text, tags: [text] });

async function apply(set: string, ...after: readonly { readonly externalId: string }[]): Promise<void> {
  const { json } = await call(`${service.url}${v1}/database`, { method: "GET" });
  const change = { action: "create", expects: null, detailsVersion: 0, warnings: [], notes: [] };
  await send("POST", `${v1}/topic-sets/${set}/changes`, {
    ...{ database: json.id, plan: "0123456789abcdef", total: after.length },
    changes: after.map((one) => ({ ...change, externalId: one.externalId, after: one })),
  });
}

async function storeTopics(): Promise<void> {
  await create(ids.own, mine);
  for (const externalId of [ids.foreign, ids.moved, ids.reused]) {
    await create(externalId, mark);
    await change(externalId, mark);
    await describeTopic(externalId, mark);
  }
  await change(ids.moved, mine);
  await describeTopic(ids.moved, mine);
  await send("POST", `${v1}/topics/${ids.reused}/disable`);
  await create(ids.reused, mine);
  const toMember = (externalId: string, namespace: string) => {
    return { ...toTopic(externalId, namespace), path: `${namespace}.yaml`, owner: namespace };
  };
  const [first, second, third, gone] = [unique("member"), `${mark}-member`, `${mark}-other`, `${mark}-gone`];
  await apply(ids.set, toMember(first, mine), toMember(second, mark), toMember(gone, mine));
  await apply(ids.foreignSet, toMember(third, mark));
  // Drift, which a set shows.
  for (const externalId of [second, gone])
    await send("PUT", `${v1}/topics/${externalId}?force=true`, {
      ...{ ...toTopic(externalId, mark), headerQuery: "" },
    });
  named.topics.push(first, second, third, gone);
  for (const namespace of [mine, mark]) {
    const { json } = await call(`${service.url}${v1}/topics?namespace=${namespace}`, { method: "GET" });
    // The version of a topic that moved away stays visible, with its ids.
    const stayed = (json.topics as { externalId: string; id: string }[]).filter(
      ({ externalId }) => externalId !== gone,
    );
    const sysIds = stayed.map(({ id }) => id);
    named.topics.push(...sysIds);
    if (namespace === mark) marks.push(...sysIds);
  }
}

async function storeDeadLetters(): Promise<void> {
  const toRejected = (externalId: string, namespace: string) => ({
    ...{ ...toTopic(externalId, namespace), contentQuery: `(((${namespace}` },
  });
  await service.send(toRejected(ids.own, mine), toRejected(ids.own, mark), toRejected(ids.foreign, mark));
  await service.caughtUp();
  await until("the dead letters are listed", async () => {
    const { json } = await call(`${service.url}${v1}/dead-letters?limit=200`, { method: "GET" });
    const found = json.deadLetters as { id: string; externalId: string }[];
    const sent = found.filter(({ externalId }) => [ids.own, ids.foreign].includes(externalId));
    named.deadLetters = sent.map(({ id }) => id);
    return sent.length === 3;
  });
}

async function storeUsage(): Promise<void> {
  const now = new Date();
  await service.db.collection<{ _id: string }>(collections.topicUsage).insertOne({
    ...{ _id: ids.foreign, last_on: now, events: markedCount },
  });
}

async function storeBackfills(): Promise<void> {
  const records = [createBackfillRecord(ids.own, mine), createBackfillRecord(mark, mark)];
  await service.db.collection<{ _id: string }>(collections.backfills).insertMany(records);
  named.backfills = records.map(({ _id }) => _id);
}

async function store(): Promise<void> {
  await storeTopics();
  await storeDeadLetters();
  await storeUsage();
  await storeBackfills();
  keys.limited = await createKey(service.url, ...limitableRights.map((right) => `${right}@${mine}`));
  keys.unlimited = await createKey(service.url, "admin", ...limitableRights);
}

/** Queries of operations that show more with one. */
const queries: Readonly<Record<string, () => readonly string[]>> = {
  listTopics: () => [
    ...["?limit=999", "?state=disabled", `?q=${mark}`, `?owner=${mark}`, `?tag=${mark}`, `?set=${ids.set}`],
    ...[`?search=${mark}`, `?namespace=${mark}`, "?sort=-name", "?sort=changed", "?unusedFor=1m"],
    ...["", `&set=${ids.set}`].map((set) => `?at=${new Date().toISOString()}${set}`),
  ],
  getTopic: () => ["", "?version=1", "?version=2", `?at=${new Date().toISOString()}`],
  listTopicVersions: () => ["", "?limit=1"],
  getDeadLetter: () => [""],
};

/** The bodies of operations that read by POST. */
const bodies: Readonly<Record<string, () => readonly object[]>> = {
  checkTopic: () => named.topics.map((externalId) => toTopic(externalId, mine)),
  previewImpact: () => named.topics.map((externalId) => ({ changes: [{ externalId }] })),
  pickTopics: () => [{ event: { b: "1" }, a: "1" }],
  lookUpTopics: () => [
    ...named.sets.map((set) => ({ set })),
    { externalIds: named.topics, definitions: [toTopic(ids.foreign, mark)] },
  ],
  getReplayOutcomes: () => [{ ids: named.deadLetters }],
  replayDeadLetters: () => [{ ids: named.deadLetters, again: true, dryRun: true }],
};

interface Read {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
}

function getNames(path: string): readonly string[] {
  if (!path.includes("{")) return [""];
  return path.includes("/topic-sets/")
    ? named.sets
    : path.includes("/topics/")
      ? named.topics
      : path.includes("/backfills/")
        ? named.backfills
        : named.deadLetters;
}

/** Every request of an operation. */
function toReads({ id, method, paths: [path = ""] }: Operation): Read[] {
  const asked = getNames(path).flatMap((name) =>
    (queries[id]?.() ?? [""]).map((query) => path.replace(/\{\w+\}/, encodeURIComponent(name)) + query),
  );
  const sent = bodies[id]?.() ?? [undefined];
  return asked.flatMap((one) => sent.map((body) => ({ method, path: one, ...(body && { body }) })));
}

/** The pages of a list, with what their cursors are made of. */
async function readPages(read: Read, key: string): Promise<string> {
  const { text, json } = await call(service.url + read.path, { ...read, key });
  const next: unknown = json?.next;
  if (typeof next !== "string") return text;
  const cursor = Buffer.from(next, "base64url").toString();
  // Other lists have the topics of all tests.
  if (!read.path.endsWith("/versions?limit=1")) return text + cursor;
  const path = read.path.replace("?", `?after=${next}&`);
  const { text: second, json: page } = await call(service.url + path, { ...read, key });
  return [text, cursor, second, Buffer.from(String(page.next), "base64url").toString()].join("\n");
}

/** The marks in an answer, apart from what the request names. */
async function findMarks(read: Read, key: string): Promise<{ found: string[]; text: string }> {
  const text = await readPages(read, key);
  const sent = decodeURIComponent(JSON.stringify(read));
  const told = Object.values(named)
    .flat()
    .filter((one) => sent.includes(one))
    .toSorted((one, other) => other.length - one.length)
    .reduce((rest, one) => rest.replaceAll(one, ""), text);
  return { found: marks.filter((one) => told.includes(one)), text };
}

describe("a read", () => {
  before(store);

  const reads = operations.filter(
    ({ id, method, access, perNamespace = access === "user" }) =>
      perNamespace && (method === "GET" || bodies[id] !== undefined) && id !== "streamOverview",
  );
  /** These need a router, or repeat the ids of the request. */
  const unmarked = [
    ...["checkTopic", "previewImpact", "replayDeadLetters", "getReplayOutcomes"],
    ...["listEvents", "getEvent"],
  ];

  it("is every operation for limited rights that is not a change", () => {
    for (const { id, access, perNamespace } of operations)
      if (perNamespace === true && access !== "topics.write")
        assert.ok(
          reads.some((one) => one.id === id),
          id,
        );
  });

  for (const one of reads)
    it(`shows nothing of foreign namespaces: ${one.id}`, async () => {
      let isShown = one.perNamespace !== true || unmarked.includes(one.id);
      for (const read of toReads(one)) {
        const { found, text } = await findMarks(read, keys.limited);
        assert.deepEqual(found, [], `${JSON.stringify(read)}: ${text}`);
        isShown ||= (await findMarks(read, keys.unlimited)).found.length > 0;
      }
      assert.ok(isShown, "not even to those who may see it");
    });

  for (const one of reads.filter(({ paths: [path = ""] }) => path.includes("/topics/{")))
    it(`knows no topic of foreign namespaces: ${one.id}`, async () => {
      const ask = async (name: string, query: string) => {
        const path = (one.paths[0] ?? "").replace(/\{\w+\}/, name) + query;
        const { status, text } = await call(service.url + path, { method: one.method, key: keys.limited });
        return [status, text.replaceAll(name, "")];
      };
      for (const query of queries[one.id]?.() ?? [""])
        assert.deepEqual(await ask(ids.foreign, query), await ask(unique("nothing"), query), query);
    });
});
