/** A topic is named by its external id, which anybody can choose, or by its sys_id, which nobody can. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { collections } from "../../../src/storage/names.ts";
import type { TopicRecord } from "../../../src/storage/topics/records.ts";
import { assertError, call, type HttpResponse } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { service } from "../../support/shared-service.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const own = unique("own");
let key = "";
service.prepare(async () => {
  key = await createKey(service.url, `topics.write@${own}`, `topics.read@${own}`);
});

/** The administrator sends it unless a key is given. */
const send = (path: string, options: Parameters<typeof call>[1] = {}): Promise<HttpResponse> =>
  call(`${service.url}/api/${path}`, options);
const v1 = "topicsync/v1/topics";
const get = (id: string, as?: string) =>
  send(`${v1}/${id}`, { method: "GET", ...(as !== undefined && { key: as }) });

async function create(externalId: string, namespace: string, as?: string) {
  const body = { externalId, name: unique("name"), namespace };
  const created = await send("svc_api_notif_mgmt/topic", { body, ...(as !== undefined && { key: as }) });
  assert.equal(created.status, 201, created.text);
  return { ...body, id: String(created.json.id) };
}

describe("an external id that is the sys_id of a foreign topic", () => {
  it("is rejected as taken, also if that topic is disabled", async () => {
    const { id } = await create(unique("theirs"), unique("foreign"));
    const mine = await create(unique("mine"), own, key);
    const topic = { externalId: id, name: unique("name"), namespace: own };
    const database = (await send("topicsync/v1/database", { method: "GET" })).json.id as string;
    const created = { action: "create", externalId: id, expects: null, detailsVersion: 0 };
    const batch = { database, plan: "0123456789abcdef", total: 1 };
    const attempts: [path: string, body: object, method?: "PUT"][] = [
      ["svc_api_notif_mgmt/topic", topic],
      [`${v1}/${mine.id}`, topic, "PUT"],
      ["topicsync/v1/topic-changes", { changes: [{ kind: "create", topic }] }],
      [
        "topicsync/v1/topic-changes",
        { changes: [{ kind: "change", externalId: mine.externalId, version: 1, topic }] },
      ],
      [
        `topicsync/v1/topic-sets/${unique("set")}/changes`,
        { ...batch, changes: [{ ...created, after: topic, warnings: [], notes: [] }] },
      ],
    ];
    for (const state of ["active", "disabled"]) {
      if (state === "disabled") assert.equal((await send(`${v1}/${id}/disable`)).status, 200);
      for (const [path, body, method = "POST"] of attempts)
        assertError(
          await send(path, { key, method, body, ...(method === "PUT" && { headers: { "If-Match": "*" } }) }),
          400,
          "DUPLICATE_EXTERNAL_ID",
        );
      const { json } = await send("topicsync/v1/topic-check", { key, body: topic });
      assert.deepEqual(
        json.faults.map((fault: { path: string }) => fault.path),
        ["/externalId"],
      );
    }
  });

  it("never takes its place, if the channel gave it to a topic", async () => {
    const theirs = await create(unique("theirs"), unique("foreign"));
    const { id } = theirs;
    const record = { ...createTopicRecord({ externalId: id }), namespace: own };
    await service.db.collection<TopicRecord>(collections.topics).insertOne(record);
    const mine = { id: record._id };
    assert.deepEqual([(await get(id)).json.id, (await get(id, key)).json.id], [id, mine.id]);
    assert.equal((await send(`${v1}/${id}/disable`)).json.id, id);
    const readStates = async () =>
      Promise.all([theirs, mine].map(async (one) => (await get(one.id)).json.state as string));
    assert.deepEqual(await readStates(), ["disabled", "active"]);
    // A disabled topic keeps its sys_id.
    assert.equal((await send(`${v1}/${id}/enable`)).json.id, id);
    assert.equal((await send(`${v1}/${id}/disable`, { key })).json.id, mine.id);
    assert.deepEqual(await readStates(), ["active", "disabled"]);
  });
});

describe("the sys_id of a disabled topic", () => {
  it("is not that of the topic that has its external id now", async () => {
    const { id, externalId } = await create(unique("topic"), own);
    assert.equal((await send(`${v1}/${id}/disable`)).status, 200);
    const next = await create(externalId, own);
    const headers = { "If-Match": "*" };
    const body = { externalId, name: unique("other"), namespace: own };
    for (const [path, options] of [
      ["/disable", {}],
      ["/restore", { body: { version: 1 } }],
      ["", { method: "PUT", headers, body }],
      ["/details", { method: "PUT", headers, body: { owner: "me" } }],
    ] as const)
      assert.equal((await send(`${v1}/${id}${path}`, options)).status, 404, path);
    const [former, current] = [(await get(id)).json, (await get(externalId)).json];
    assert.deepEqual([former.id, former.state, current.id, current.version], [id, "disabled", next.id, 1]);
    const { json } = await send(`${v1}/${id}/versions`, { method: "GET" });
    assert.equal(json.versions.length, 2);
  });
});
