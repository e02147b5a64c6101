import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { createCursorFormat } from "@topicsync/lib/cursor";
import {
  toRetiredRecord,
  type RetiredRecord,
  type TopicRecord,
} from "../../../src/storage/topics/records.ts";
import type { Source, Topic } from "../../../src/topics/topic.ts";
import { call, type HttpResponse } from "../../support/http.ts";
import { useService } from "../../support/scene.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const service = useService();
const topics = service.db.collection<TopicRecord>("svc_api_notif_mgmt_topic");
const retired = service.db.collection<RetiredRecord>("svc_api_notif_mgmt_topic_retired");
const ann = { user: "ann", password: "password of ann" };

const announcement: Source = { kind: "announcement", topic: "channel", partition: 2, offset: 17 };
const long = "x".repeat(1_500);
const atMinute = (i: number): Date => new Date(Date.UTC(2026, 0, 1, 0, i));

/** 40 topics. Several share a name and a time of change; a few names are too long for a cursor in a URL. */
const stored: TopicRecord[] = Array.from({ length: 40 }, (_, i) => ({
  ...createTopicRecord({ externalId: `id-${String((i * 7) % 40).padStart(2, "0")}`, contentQuery: `n=${i}` }),
  _id: String(i).padStart(32, "0"),
  topic_name: `name ${i % 4}${i % 8 === 3 ? long : ""}`,
  namespace: i % 10 === 0 ? "rare" : "usual",
  source: i % 20 === 0 ? { kind: "http", user: "ann" } : announcement,
  sys_updated_on: atMinute(i % 5),
}));

const topic = (externalId: string): Topic => ({
  ...{ externalId, name: `name of ${externalId}`, namespace: "", headerQuery: "", contentQuery: "" },
  ...{
    id: `f01${externalId.padStart(29, "0")}`,
    source: announcement,
    version: 1,
    createdOn: atMinute(0),
    updatedOn: atMinute(1),
  },
});
const retiredTopic = (externalId: string, minutes: number, retiredBy: Source): RetiredRecord => ({
  ...toRetiredRecord({ topic: topic(externalId), retiredOn: atMinute(minutes), retiredBy }),
  // The ids that retiredId returns for these.
  _id:
    retiredBy.kind === "http"
      ? `${topic(externalId).id}-${atMinute(1).getTime()}`
      : `channel-2-${retiredBy.offset}`,
});
const tombstone = (offset: number): Source => ({ ...announcement, offset });
const byAnn: Source = { kind: "http", user: "ann" };

const path = "/api/topicsync/v1/topics";
const get = (rest = "", as?: { user: string; password: string }): Promise<HttpResponse> =>
  call(`${service.url}${path}${rest}`, { method: "GET", ...(as && { as }) });
const post = (rest: string, body: object = {}): Promise<HttpResponse> =>
  call(`${service.url}${path}${rest}`, { body });
const check = (body: object): Promise<HttpResponse> =>
  call(`${service.url}/api/topicsync/v1/topic-check`, { body });
const toExternalIds = ({ json }: HttpResponse): string[] =>
  (json.topics as { externalId: string }[]).map(({ externalId }) => externalId);

/** Reads a whole list in pages of seven and returns the external ids. */
async function listAll(query: Record<string, string>): Promise<string[]> {
  const found: string[] = [];
  for (let after: string | null = ""; after !== null;) {
    const page = new URLSearchParams({ ...query, limit: "7", ...(after !== "" && { after }) });
    const response: HttpResponse = await get(`?${page.toString()}`);
    assert.equal(response.status, 200, response.text);
    found.push(...toExternalIds(response));
    after = response.json.next;
    assert.ok(after === null ? toExternalIds(response).length <= 7 : toExternalIds(response).length === 7);
  }
  return found;
}

/** The external ids of active topics, sorted by the text that `getText` returns. */
const sortIds = (getText: (record: TopicRecord) => string, chosen = stored): string[] =>
  chosen
    .map((record) => [getText(record), record.topic_id] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, id]) => id);
const getId = ({ topic_id }: TopicRecord): string => topic_id;
const getCombination = ({ topic_name, namespace, header_query, content_query }: TopicRecord): string =>
  [topic_name, namespace, header_query, content_query].join("\0");
const getChange = ({ sys_updated_on, _id }: TopicRecord): string => `${sys_updated_on.toISOString()} ${_id}`;

// Not while the service starts, which creates the indexes: the embedded store may block both.
describe("topics over HTTP", () => {
  before(async () => {
    await topics.insertMany(stored);
    await retired.insertMany([
      ...Array.from({ length: 6 }, (_, i) => retiredTopic(`gone-${i}`, 10 + i, tombstone(100 + i))),
      // One that was retired twice, and one that is active again.
      retiredTopic("gone-0", 30, tombstone(200)),
      retiredTopic("id-00", 31, tombstone(201)),
      retiredTopic("off-1", 20, byAnn),
    ]);
    await service.addUser(ann.user, ann.password);
  });

  describe("listing topics over HTTP", () => {
    it("requires the event management role", async () => {
      assert.equal((await get("", ann)).status, 403);
      assert.equal((await get("/id-01", ann)).status, 403);
    });

    for (const [sort, getText] of [
      ["externalId", getId],
      ["name", getCombination],
      ["changed", getChange],
    ] as const) {
      it(`pages through every topic once by ${sort}, in both directions`, async () => {
        assert.deepEqual(await listAll({ sort }), sortIds(getText));
        assert.deepEqual(await listAll({ sort: `-${sort}` }), sortIds(getText).reverse());
      });
    }

    it("finds topics by a prefix: external ids first, then names, each topic once", async () => {
      await topics.insertOne({ ...createTopicRecord({ externalId: "name 1st" }), topic_name: "name 1" });
      const named = stored.filter(({ topic_name }) => topic_name.startsWith("name 1"));
      assert.deepEqual(await listAll({ search: "name 1" }), ["name 1st", ...sortIds(getCombination, named)]);
      await topics.deleteOne({ topic_id: "name 1st" });
      assert.deepEqual(await listAll({ search: "id-3" }), sortIds(getId).slice(30));
      assert.deepEqual(await listAll({ search: "Name" }), []);
    });

    it("filters by namespace and by source, in every order", async () => {
      const rare = stored.filter(({ namespace }) => namespace === "rare");
      assert.deepEqual(
        await listAll({ namespace: "rare", sort: "-name" }),
        sortIds(getCombination, rare).reverse(),
      );
      const byHand = stored.filter(({ source }) => source.kind === "http");
      assert.deepEqual(await listAll({ source: "http", sort: "changed" }), sortIds(getChange, byHand));
      assert.deepEqual(await listAll({ namespace: "" }), []);
    });

    it("lists retired and disabled topics separately, without those that are active again, the latest first", async () => {
      const ids = ["gone-0", "gone-5", "gone-4", "gone-3", "gone-2", "gone-1"];
      assert.deepEqual(await listAll({ state: "retired" }), ids);
      assert.deepEqual(await listAll({ state: "retired", search: "gone-" }), ids);
      const { json } = await get("?state=disabled");
      assert.equal(json.topics.length, 1);
      const [{ externalId, state, retiredBy, retiredOn }] = json.topics;
      assert.deepEqual(
        [externalId, state, retiredBy, retiredOn],
        ["off-1", "disabled", byAnn, atMinute(20).toISOString()],
      );
    });

    it("rejects an invalid query and names the member", async () => {
      const { next } = (await get("?limit=1&sort=name")).json;
      const goneTopic = createCursorFormat("topics:name:id", ["string"]).encode(["f".repeat(32)]);
      for (const [query, member] of [
        ["?limit=1000", "/limit"],
        ["?sort=namespace", "/sort"],
        ["?sort=name&search=a", "/sort"],
        ["?sort=name&state=retired", "/sort"],
        ["?state=gone", "/state"],
        ["?source=cli", "/source"],
        ["?search=", "/search"],
        ["?search[$gt]=a", "/search[$gt]"],
        ["?after=nonsense", "/after"],
        [`?after=${next}`, "/after"],
        [`?sort=name&after=${goneTopic}`, "/after"],
      ] as const) {
        const { status, json } = await get(query);
        assert.equal(status, 400, query);
        assert.equal(json.error.details[0].path, member, query);
      }
    });
  });

  describe("one topic over HTTP", () => {
    it("is shown with its filters in words, its source and its previous definition", async () => {
      const record = createTopicRecord({
        externalId: "a/b c",
        headerQuery: "eventType=A,B",
        contentQuery: "=1",
      });
      const { topic_name, namespace, content_query } = record;
      await topics.insertOne({
        ...{ ...record, source: announcement },
        previous: {
          topic_name,
          namespace,
          content_query,
          header_query: "",
          source: byAnn,
          sys_updated_on: atMinute(0),
        },
      });
      const { status, json } = await get("/a%2Fb%20c");
      assert.equal(status, 200);
      assert.deepEqual(json.source, announcement);
      assert.deepEqual(json.filters.headerQuery.conditions, ['eventType is "A" or "B"']);
      assert.deepEqual(json.filters.contentQuery.fault, {
        message: "has no name before the operator",
        position: 0,
      });
      assert.deepEqual(json.previous, {
        ...{ name: topic_name, namespace, headerQuery: "", contentQuery: "=1" },
        ...{ source: byAnn, updatedOn: atMinute(0).toISOString() },
      });
      assert.equal((await get(`/${record._id}`)).json.externalId, "a/b c");
      await topics.deleteOne({ _id: record._id });
    });

    it("is shown with its last definition after it is retired", async () => {
      const { json } = await get("/gone-0");
      assert.deepEqual([json.state, json.retiredBy], ["retired", tombstone(200)]);
      assert.equal((await get("/nothing")).status, 404);
    });

    it("can be disabled and enabled unless it was announced", async () => {
      const body = { name: "switched", externalId: "switched" };
      assert.equal((await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body })).status, 201);
      const disabled = await post("/switched/disable");
      assert.deepEqual([disabled.status, disabled.json.state], [200, "disabled"]);
      assert.equal((await get("/switched")).json.state, "disabled");
      assert.equal((await post("/switched/enable")).json.state, "active");
      assert.deepEqual((await post("/id-01/disable")).json.error.code, "EXTERNAL_ID_TAKEN");
      assert.equal((await post("/nothing/enable")).status, 404);
    });
  });

  describe("validating a definition over HTTP", () => {
    it("reports every problem at once, as creating it would, and stores nothing", async () => {
      const [held] = stored;
      assert.ok(held);
      const combination = {
        name: held.topic_name,
        namespace: held.namespace,
        headerQuery: held.header_query,
        contentQuery: held.content_query,
      };
      const findFaults = async (body: object): Promise<string[]> => {
        const { faults } = (await check(body)).json as { faults: { path: string }[] };
        return faults.map(({ path: at }) => at);
      };
      assert.deepEqual(await findFaults({ name: "new", externalId: "new" }), []);
      assert.deepEqual(await findFaults({}), ["/name", "/externalId"]);
      assert.deepEqual(await findFaults({ ...combination, externalId: "id-07" }), ["/externalId", ""]);
      assert.deepEqual(
        await findFaults({ name: "new", externalId: "new", headerQuery: "a=1&&", contentQuery: "=" }),
        ["/headerQuery", "/contentQuery"],
      );
      assert.equal((await check({ nmae: "a" })).status, 400);
      assert.equal((await get("/new")).status, 404);
    });
  });
});
