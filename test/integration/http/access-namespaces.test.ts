/** Every operation that serves limited rights × limits × namespaces. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { operations } from "../../../docs/contracts.ts";
import { collections } from "../../../src/storage/names.ts";
import { createBackfillRecord } from "../../support/backfills.ts";
import { call, type HttpResponse } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { service } from "../../support/shared-service.ts";

const namespaces = ["", "assurance", "assurance.mobile", "assurancex", "sales"] as const;

/** The namespaces that each limit of a right covers. */
const covered: Readonly<Record<string, readonly string[]>> = {
  "": namespaces,
  "@": [""],
  "@assurance": ["assurance"],
  "@assurance.*": ["assurance", "assurance.mobile"],
  "@assurance.mobile": ["assurance.mobile"],
  "@sales": ["sales"],
  "@nowhere": [],
};

/**
 * Lists hand the limits to the store, and are tried with all of them. Everything else asks
 * `includesNamespace`, whose unit tests have every case.
 */
const tried = (id: string): readonly (readonly [limit: string, namespaces: readonly string[]])[] =>
  /^(?:list|pick|lookUp)/.test(id)
    ? Object.keys(covered).map((limit) => [limit, namespaces])
    : [
        ["", ["sales"]],
        ["@", ["", "sales"]],
        ["@assurance.*", ["", "assurance.mobile", "assurancex"]],
      ];

interface InNamespace {
  readonly topic: string;
  readonly deadLetter: string;
}

/** What each namespace contains. */
const stored = new Map<string, InNamespace>();
const getStored = (namespace: string): InNamespace =>
  stored.get(namespace) ?? { topic: "missing", deadLetter: "missing" };

const send = (method: "GET" | "POST" | "PUT", path: string, key: string | undefined, body?: object) =>
  call(`${service.url}${path}`, {
    method,
    ...(method === "PUT" && { headers: { "If-Match": "*" } }),
    ...(key === undefined ? {} : { key }),
    ...(body === undefined ? {} : { body }),
  });

const createBody = (namespace: string) => ({
  externalId: unique("topic"),
  name: unique("name"),
  namespace,
  contentQuery: "a=1",
});

async function createTopic(namespace: string, key?: string): Promise<HttpResponse> {
  return send("POST", "/api/svc_api_notif_mgmt/topic", key, createBody(namespace));
}

const v1 = "/api/topicsync/v1";

/** Whether the response is the one of success; otherwise it must be the other one. */
function isReached({ status, text }: HttpResponse, success: number, otherwise: number): boolean {
  assert.ok(status === success || status === otherwise, `${status} ${text}`);
  return status === success;
}

async function switchTopic(action: "disable" | "enable", namespace: string, key: string): Promise<boolean> {
  const { externalId } = (await createTopic(namespace)).json;
  const at = `${v1}/topics/${String(externalId)}`;
  if (action === "enable") await send("POST", `${at}/disable`, undefined);
  return isReached(await send("POST", `${at}/${action}`, key), 200, 404);
}

/** A set with topics in one namespace. */
const toSetName = (namespace: string): string => `set-of-${namespace}`;

async function applyCreation(namespace: string, key?: string): Promise<HttpResponse> {
  const after = createBody(namespace);
  const change = { action: "create", externalId: after.externalId, after, expects: null, detailsVersion: 0 };
  const { json: database } = await send("GET", `${v1}/database`, undefined);
  return send("POST", `${v1}/topic-sets/${toSetName(namespace)}/changes`, key, {
    ...{ database: database.id, plan: "0123456789abcdef", total: 1 },
    changes: [{ ...change, warnings: [], notes: [] }],
  });
}

const hasTopic = (topics: readonly { externalId: string }[], namespace: string): boolean =>
  topics.some(({ externalId }) => externalId === getStored(namespace).topic);

/** Whether a caller reaches what is in a namespace, by operation. */
const probes: Readonly<Record<string, (key: string, namespace: string) => Promise<boolean>>> = {
  createTopic: async (key, namespace) => isReached(await createTopic(namespace, key), 201, 403),
  checkTopic: async (key, namespace) =>
    isReached(await send("POST", `${v1}/topic-check`, key, createBody(namespace)), 200, 403),
  async previewImpact(key, namespace) {
    // Without a router there are no events, which is noticed after the rights were checked.
    const ofStored = { changes: [{ externalId: getStored(namespace).topic }] };
    const ofNew = { changes: [{ externalId: unique("new"), namespace }] };
    const [stored, created] = await Promise.all(
      [ofStored, ofNew].map(async (body) =>
        isReached(await send("POST", `${v1}/impact`, key, body), 404, 403),
      ),
    );
    assert.equal(stored, created);
    return stored === true;
  },
  async listTopics(key, namespace) {
    const { json } = await send("GET", `${v1}/topics?search=${getStored(namespace).topic}`, key);
    return hasTopic(json.topics, namespace);
  },
  getTopic: async (key, namespace) =>
    isReached(await send("GET", `${v1}/topics/${getStored(namespace).topic}`, key), 200, 404),
  listTopicVersions: async (key, namespace) =>
    isReached(await send("GET", `${v1}/topics/${getStored(namespace).topic}/versions`, key), 200, 404),
  async changeTopic(key, namespace) {
    const { externalId } = (await createTopic(namespace)).json;
    const body = { ...createBody(namespace), externalId };
    return isReached(await send("PUT", `${v1}/topics/${String(externalId)}`, key, body), 200, 403);
  },
  async restoreTopic(key, namespace) {
    const { externalId } = (await createTopic(namespace)).json;
    const path = `${v1}/topics/${String(externalId)}/restore`;
    return isReached(await send("POST", path, key, { version: 1 }), 200, 404);
  },
  async changeTopics(key, namespace) {
    const { externalId } = (await createTopic(namespace)).json;
    const changes = [{ kind: "disable", externalId, version: 1 }];
    return isReached(await send("POST", `${v1}/topic-changes`, key, { changes }), 200, 404);
  },
  describeTopic: async (key, namespace) =>
    isReached(await send("PUT", `${v1}/topics/${getStored(namespace).topic}/details`, key, {}), 200, 404),
  getTopicUsage: async (key, namespace) =>
    isReached(await send("GET", `${v1}/topics/${getStored(namespace).topic}/usage`, key), 200, 404),
  async createBackfill(key, namespace) {
    // Without a router there are no events, which is noticed after the rights were checked.
    const path = `${v1}/topics/${getStored(namespace).topic}/backfills`;
    const { text } = await send("POST", path, key, { from: "2026-11-01T00:00:00Z" });
    return text.includes("KAFKA_EVENTS_TOPIC");
  },
  async listBackfills(key, namespace) {
    const { json } = await send("GET", `${v1}/backfills`, key);
    return hasTopic(json.backfills, namespace);
  },
  getBackfill: async (key, namespace) =>
    isReached(await send("GET", `${v1}/backfills/${getStored(namespace).topic}`, key), 200, 404),
  cancelBackfill: async (key, namespace) =>
    isReached(await send("POST", `${v1}/backfills/${getStored(namespace).topic}/cancel`, key), 200, 404),
  getTopicRelations: async (key, namespace) =>
    isReached(await send("GET", `${v1}/topics/${getStored(namespace).topic}/relations`, key), 200, 404),
  disableTopic: (key, namespace) => switchTopic("disable", namespace, key),
  enableTopic: (key, namespace) => switchTopic("enable", namespace, key),
  async listTopicSets(key, namespace) {
    const { json } = await send("GET", `${v1}/topic-sets`, key);
    return (json.sets as { name: string }[]).some(({ name }) => name === toSetName(namespace));
  },
  getTopicSet: async (key, namespace) =>
    isReached(await send("GET", `${v1}/topic-sets/${toSetName(namespace)}`, key), 200, 404),
  async lookUpTopics(key, namespace) {
    const body = { externalIds: [getStored(namespace).topic] };
    return (await send("POST", `${v1}/topic-look-up`, key, body)).json.topics.length === 1;
  },
  applyTopicChanges: async (key, namespace) => isReached(await applyCreation(namespace, key), 200, 403),
  async pickTopics(key, namespace) {
    const { topic } = getStored(namespace);
    const { json } = await send("POST", "/api/svc_api_notif_mgmt/topic/pick", key, { event: { a: "1" } });
    assert.equal(json.topics.length, json.total);
    const path = `/api/svc_api_notif_mgmt/topic/pick?explain=${topic}`;
    const isPicked = hasTopic(json.topics, namespace);
    const at = "at=2100-01-01T00:00:00Z";
    const then = await send("POST", `/api/svc_api_notif_mgmt/topic/pick?${at}`, key, { event: { a: "1" } });
    assert.equal(hasTopic(then.json.topics, namespace), isPicked);
    for (const url of [path, `${path}&${at}`])
      assert.equal(isReached(await send("POST", url, key, { event: { a: "1" } }), 200, 404), isPicked);
    return isPicked;
  },
  async listDeadLetters(key, namespace) {
    const { json } = await send("GET", `${v1}/dead-letters`, key);
    assert.equal(json.deadLetters.length, json.total);
    const listed = json.deadLetters as { id: string }[];
    return listed.some(({ id }) => id === getStored(namespace).deadLetter);
  },
  getDeadLetter: async (key, namespace) =>
    isReached(await send("GET", `${v1}/dead-letters/${getStored(namespace).deadLetter}`, key), 200, 404),
  async replayDeadLetters(key, namespace) {
    const ids = [getStored(namespace).deadLetter];
    const body = { ids, again: true, dryRun: true };
    const { sent, skipped } = (await send("POST", `${v1}/dead-letters/replays`, key, body)).json;
    if (sent.length === 0) assert.equal(skipped[0].reason, "missing");
    return sent.length === 1;
  },
  async getReplayOutcomes(key, namespace) {
    const body = { ids: [getStored(namespace).deadLetter] };
    const { json } = await send("POST", `${v1}/dead-letters/replay-outcomes`, key, body);
    return json.deadLetters[0].replay !== null;
  },
};

/** Tested in events.long.test.ts: there are no events without a router. */
const ofRouter = ["listEvents", "getEvent"];
const served = operations.filter(({ id, perNamespace }) => perNamespace === true && !ofRouter.includes(id));

/** A tombstone and a record that is not JSON: nobody knows their namespaces. */
const ofUnknownNamespace: string[] = [];

service.prepare(async () => {
  const rejected = namespaces.map((namespace) => ({
    ...{ externalId: unique("rejected"), name: "Rejected", namespace, contentQuery: "(((" },
  }));
  await service.send(...rejected);
  const id = (offset: number): string => `${service.topic}-0-${offset}`;
  for (const [offset, namespace] of namespaces.entries())
    stored.set(namespace, {
      topic: (await createTopic(namespace)).json.externalId,
      deadLetter: id(offset),
    });
  for (const namespace of namespaces) assert.equal((await applyCreation(namespace)).status, 200);
  await service.db
    .collection<{ _id: string }>(collections.backfills)
    .insertMany([...stored].map(([namespace, { topic }]) => createBackfillRecord(topic, namespace, topic)));
  const misspelt = { externalId: unique("misspelt"), name: "Misspelt", nameSpace: "sales" };
  await service.send(misspelt, getStored("sales").topic);
  ofUnknownNamespace.push(id(namespaces.length), id(namespaces.length + 1));
  await service.caughtUp();
  await until("the dead letters are listed", async () => {
    const { json } = await send("GET", `${v1}/dead-letters`, undefined);
    return json.total === namespaces.length + 2;
  });
  const ids = [...stored.values()].map(({ deadLetter }) => deadLetter);
  const { json } = await send("POST", `${v1}/dead-letters/replays`, undefined, { ids });
  assert.equal(json.sent.length, ids.length, JSON.stringify(json));
  await service.caughtUp();
});

describe("an operation that serves rights limited to namespaces", () => {
  it("has a probe here", () => {
    assert.deepEqual(Object.keys(probes).toSorted(), served.map(({ id }) => id).toSorted());
  });

  for (const { id, access } of served)
    it(`reaches what the right covers, and nothing else: ${id}`, async () => {
      for (const [limit, among] of tried(id)) {
        const key = await createKey(service.url, `${access}${limit}`, "events.read");
        for (const namespace of among)
          assert.equal(
            await probes[id]?.(key, namespace),
            covered[limit]?.includes(namespace),
            `${id} with ${access}${limit} in "${namespace}"`,
          );
      }
    });
});

describe("rights that are limited to namespaces", () => {
  it("add up", async () => {
    const key = await createKey(service.url, "topics.read@sales", "topics.read@assurance");
    const { json } = await send("GET", `${v1}/topics?limit=200`, key);
    assert.deepEqual(
      [...new Set(json.topics.map(({ namespace }: { namespace: string }) => namespace))].toSorted(),
      ["assurance", "sales"],
    );
  });

  it("never reach dead letters whose namespace is unknown", async () => {
    const key = await createKey(
      service.url,
      ...Object.keys(covered)
        .filter((limit) => limit !== "")
        .map((limit) => `dead-letters.read${limit}`),
    );
    for (const id of ofUnknownNamespace) {
      assert.equal((await send("GET", `${v1}/dead-letters/${id}`, undefined)).status, 200, id);
      assert.equal((await send("GET", `${v1}/dead-letters/${id}`, key)).status, 404, id);
    }
  });

  it("show the content of dead letters in the namespaces of that right only", async () => {
    const key = await createKey(service.url, "dead-letters.read", "dead-letters.read-content@sales");
    for (const namespace of namespaces) {
      const { json } = await send("GET", `${v1}/dead-letters/${getStored(namespace).deadLetter}`, key);
      assert.equal(json.contentHidden, namespace !== "sales", namespace);
      assert.equal(json.value === null, namespace !== "sales", namespace);
    }
  });

  it("reach neither events nor push feedback, which have no namespace", async () => {
    const key = await createKey(service.url, "dead-letters.read@sales", "installations.read-tokens");
    for (const channel of ["events", "push-feedback"]) {
      const { status, json } = await send("GET", `${v1}/dead-letters?channel=${channel}`, key);
      assert.equal(status, 403);
      assert.match(json.error.detail, /dead-letters\.read is required without a limit to namespaces/);
    }
  });

  it("show the latest dead letters of their namespaces in the overview, and to others none", async () => {
    const key = await createKey(service.url, "dead-letters.read@sales");
    const { deadLetters } = (await send("GET", `${v1}/overview`, key)).json;
    assert.ok(deadLetters.length > 0);
    for (const { id } of deadLetters)
      assert.equal((await send("GET", `${v1}/dead-letters/${String(id)}`, key)).status, 200);
    const nobody = await createKey(service.url, "topics.read@sales");
    assert.equal((await send("GET", `${v1}/overview`, nobody)).json.deadLetters, null);
  });

  it("name the right that is missing for a topic that is visible", async () => {
    const key = await createKey(service.url, "topics.read", "topics.write@sales");
    const { json, status } = await send("POST", `${v1}/topics/${getStored("").topic}/disable`, key);
    assert.equal(status, 403);
    assert.match(json.error.detail, /^The right topics\.write is required in the namespace ""\./);
  });

  it("let a replay change nothing but topics of their namespaces", async () => {
    const places = ["sales", "assurance"].flatMap((one) =>
      ["sales", "assurance"].map((other) => [one, other]),
    );
    const definitions = places.map(([namespace = ""]) => ({
      ...{ externalId: unique("moved"), name: unique("name"), namespace, contentQuery: "(((" },
    }));
    await service.send(...definitions);
    await service.caughtUp();
    const [offsets] = await service.admin.fetchTopicOffsets(service.topic);
    const first = Number(offsets?.high) - places.length;
    const ids = places.map((_, at) => `${service.topic}-0-${first + at}`);
    for (const [at, [, namespace]] of places.entries()) {
      const { externalId, name } = definitions[at] ?? {};
      const body = { externalId, name, namespace };
      assert.equal((await send("POST", "/api/svc_api_notif_mgmt/topic", undefined, body)).status, 201);
    }
    const key = await createKey(service.url, "dead-letters.replay@sales");
    const body = { ids, again: true, dryRun: true };
    const { json } = await send("POST", `${v1}/dead-letters/replays`, key, body);
    const reasons = (json.skipped as { id: string; reason: string }[]).map(({ id, reason }) => [id, reason]);
    const [, theirs, mine, foreign] = ids;
    assert.deepEqual(json.sent, ids.slice(0, 1), JSON.stringify(json));
    assert.deepEqual(Object.fromEntries(reasons), {
      ...{ [String(theirs)]: "forbidden", [String(mine)]: "missing", [String(foreign)]: "missing" },
    });
  });
});
