/** Searching topics by their details. Expected topics follow from a plain search of the same data. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createCursorFormat } from "@topicsync/lib/cursor";
import {
  noDetails,
  toDetails,
  toNextDetails,
  type StoredDetails,
} from "../../../src/topics/details/details.ts";
import { toDetailsRecord, type DetailsRecord } from "../../../src/storage/topics/details-records.ts";
import type { TopicRecord } from "../../../src/storage/topics/records.ts";
import { assertError, call, type HttpResponse } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { useService } from "../../support/scene.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const service = useService();
const topics = service.db.collection<TopicRecord>("svc_api_notif_mgmt_topic");
const records = service.db.collection<DetailsRecord>("topicsync_topic_details");

/** 60 topics in three namespaces; every third one has no details. */
const stored = Array.from({ length: 60 }, (_, i): TopicRecord => ({
  ...createTopicRecord({ externalId: `id-${String((i * 7) % 60).padStart(2, "0")}` }),
  topic_name: i % 4 === 0 ? `Network alarms ${i}` : `Orders ${i}`,
  namespace: ["assurance", "assurance.mobile", "sales"][i % 3 === 0 ? (i / 3) % 3 : i % 3] ?? "",
  content_query: `n=${i}`,
}));

const createDetails = (topic: TopicRecord, i: number): StoredDetails => ({
  ...toNextDetails(undefined, {
    topic: { externalId: topic.topic_id, name: topic.topic_name, namespace: topic.namespace },
    details: toDetails({
      owner: i % 5 === 0 ? "team-noc" : "team-shop",
      tags: i % 4 === 1 ? ["p1", "network"] : ["p2"],
      labels: { tier: i % 2 === 0 ? "gold" : "", "cost-center": String(i % 10) },
      lifecycle: i % 20 === 1 ? "deprecated" : "active",
      description: i % 7 === 0 ? "Wakes the operations centre; ÄRGER garantiert." : "",
    }),
    ...{ membership: i % 6 === 1 ? { set: "assurance" } : null, by: "ann", at: new Date(0) },
  }),
});

const details = stored.flatMap((topic, i) => (i % 3 === 0 ? [] : [createDetails(topic, i)]));

service.prepare(async () => {
  await topics.insertMany(stored);
  await records.insertMany(details.map(toDetailsRecord));
});

const path = "/api/topicsync/v1/topics";
const get = (query: string, key?: string): Promise<HttpResponse> =>
  call(`${service.url}${path}?${query}`, { method: "GET", ...(key !== undefined && { key }) });

/** Reads a whole list in pages of three. */
async function readAll(query: string, key?: string): Promise<string[]> {
  const ids: string[] = [];
  let next: string | null = null;
  do {
    const response = await get(`${query}&limit=3${next === null ? "" : `&after=${next}`}`, key);
    assert.equal(response.status, 200, response.text);
    const { json } = response;
    ids.push(...json.topics.map(({ externalId }: { externalId: string }) => externalId));
    next = json.next;
  } while (next !== null);
  return ids;
}

const findIds = (meets: (one: StoredDetails) => boolean): string[] =>
  details
    .filter(meets)
    .map(({ externalId }) => externalId)
    .toSorted();

/** All words but the last, which is a prefix. */
const hasWords =
  (...wanted: string[]) =>
  ({ words }: StoredDetails): boolean =>
    wanted.every((word, i) =>
      words.some((one) => (i === wanted.length - 1 ? one.startsWith(word) : one === word)),
    );

const hasLabel =
  (name: string, value: string) =>
  ({ labels }: StoredDetails): boolean =>
    labels[name] === value;

describe("a search by details", () => {
  const cases: [query: string, meets: (one: StoredDetails) => boolean][] = [
    ["owner=team-noc", ({ owner }) => owner === "team-noc"],
    ["owner=team", () => false],
    ["tag=p1", ({ tags }) => tags.includes("p1")],
    ["label=tier%3Dgold", hasLabel("tier", "gold")],
    ["label=tier%3D", hasLabel("tier", "")],
    ["label=cost-center%3D4", hasLabel("cost-center", "4")],
    ["lifecycle=deprecated", ({ lifecycle }) => lifecycle === "deprecated"],
    ["lifecycle=active", ({ lifecycle }) => lifecycle === "active"],
    ["set=assurance", ({ membership }) => membership !== undefined],
    ["owner=team-shop&q=alarms", (one) => one.owner === "team-shop" && hasWords("alarms")(one)],
    ["owner=team-shop&q=network+al", (one) => one.owner === "team-shop" && hasWords("network", "al")(one)],
    ["owner=team-shop&q=al+network", (one) => one.owner === "team-shop" && hasWords("al", "network")(one)],
    ["tag=p2&q=%C3%84rger+GARANT", (one) => one.tags.includes("p2") && hasWords("ärger", "garant")(one)],
    [
      "owner=team-shop&tag=p1&label=tier%3D&lifecycle=active&set=assurance&q=p1",
      (one) =>
        one.owner === "team-shop" &&
        one.tags.includes("p1") &&
        hasLabel("tier", "")(one) &&
        one.lifecycle === "active" &&
        one.membership !== undefined,
    ],
  ];
  for (const [query, meets] of cases)
    it(`finds what a plain search finds, by external id: ${query}`, async () => {
      const expected = findIds(meets);
      assert.deepEqual(await readAll(query), expected);
      assert.equal(
        expected.length > 0,
        query !== "owner=team" && query !== "owner=team-shop&q=al+network",
        "cases",
      );
    });

  it("can be narrowed by the topic's namespace and source", async () => {
    const expected = findIds((one) => one.owner === "team-shop" && one.namespace === "sales");
    assert.ok(expected.length > 3);
    assert.deepEqual(await readAll("owner=team-shop&namespace=sales&source=http"), expected);
    assert.deepEqual(await readAll("owner=team-shop&source=announcement"), []);
  });

  it("has the details in its result", async () => {
    const { json } = await get("tag=p1&limit=1");
    assert.deepEqual(json.topics[0].details.tags, ["network", "p1"]);
    assert.deepEqual(json.topics[0].details.labels, { "cost-center": "1", tier: "" });
  });

  it("by words alone goes on with topics by prefix, without details or whose details differ", async () => {
    const byDetails = findIds(hasWords("network"));
    const byName = stored
      .filter(({ topic_name: name, topic_id: id }) => name.startsWith("Network") && !byDetails.includes(id))
      .toSorted((one, other) => (one.topic_name < other.topic_name ? -1 : 1))
      .map(({ topic_id: id }) => id);
    assert.ok(byName.length > 3 && byDetails.length > 3);
    assert.deepEqual(await readAll("q=Network"), [...byDetails, ...byName]);
    // The words of details ignore case; prefixes do not.
    assert.deepEqual(await readAll("q=network"), byDetails);
    const all = stored.map(({ topic_id: id }) => id).toSorted();
    assert.deepEqual((await readAll("q=id-")).toSorted(), all);
    assert.deepEqual(await readAll("q=id-07"), ["id-07"]);
  });

  it("finds the details of topics that are no longer active", async () => {
    const [id = ""] = findIds(({ owner, tags }) => owner === "team-noc" && tags.includes("p2"));
    const disable = await call(`${service.url}${path}/${id}/disable`);
    assert.equal(disable.status, 200, disable.text);
    assert.deepEqual(await readAll("state=disabled&owner=team-noc"), [id]);
    assert.deepEqual(await readAll("state=disabled&q=id"), [id]);
    assert.deepEqual(await readAll("state=retired&owner=team-noc"), []);
    assert.ok(!(await readAll("owner=team-noc")).includes(id));
    await call(`${service.url}${path}/${id}/enable`);
  });
});

describe("a search with rights limited to namespaces", () => {
  const getNamespaces: Readonly<Record<string, (namespace: string) => boolean>> = {
    "topics.read@sales": (namespace) => namespace === "sales",
    "topics.read@assurance.*": (namespace) => namespace.startsWith("assurance"),
    "topics.read@nowhere": () => false,
  };

  it("finds the topics of these namespaces, as if there were no others", async () => {
    for (const [right, includes] of Object.entries(getNamespaces)) {
      const key = await createKey(service.url, right);
      assert.deepEqual(
        await readAll("owner=team-shop", key),
        findIds((one) => one.owner === "team-shop" && includes(one.namespace)),
      );
      const found = await readAll("q=Network", key);
      const expected = stored.filter(
        (one) => one.topic_name.startsWith("Network") && includes(one.namespace),
      );
      const described = findIds((one) => hasWords("network")(one) && includes(one.namespace));
      assert.deepEqual(
        found.toSorted(),
        [...new Set([...expected.map(({ topic_id: id }) => id), ...described])].toSorted(),
      );
    }
  });

  it("has no cursor that contains a foreign topic", async () => {
    const key = await createKey(service.url, "topics.read@sales");
    const visible = new Set(stored.filter((one) => one.namespace === "sales").map(({ topic_id: id }) => id));
    for (const query of ["owner=team-shop", "q=id-"]) {
      let next: string | null = "";
      while (next !== null) {
        const { json } = await get(`${query}&limit=1${next === "" ? "" : `&after=${next}`}`, key);
        next = json.next;
        if (next === null) continue;
        const [, , id] = JSON.parse(Buffer.from(next, "base64url").toString()) as string[];
        assert.ok(visible.has(id ?? ""), `${query}: ${id}`);
      }
    }
  });
});

describe("a query that is not valid", () => {
  it("is rejected with the parameter", async () => {
    const cases: [query: string, path: string, message: RegExp][] = [
      ["q=---", "/q", /must contain a letter or a digit/],
      ["q=a+b+c+d+e+f+g+h+i+j+k", "/q", /at most 10 words/],
      [`q=${"x".repeat(201)}`, "/q", /at most 200 characters/],
      ["q=", "/q", /must not be empty/],
      ["q=a%00b", "/q", /without NUL/],
      ["label=tier", "/label", /a name and a value, such as/],
      ["lifecycle=draft", "/lifecycle", /must be one of active, deprecated/],
      ["tag=a&tag=b", "/tag", /must be a string, but is an array/],
      ["owner[$ne]=x", "/owner[$ne]", /is not a known member/],
      ["owner=x&search=y", "/search", /cannot be combined with owner/],
      ["owner=x&sort=name", "/sort", /cannot be combined with owner/],
      ["q=x&sort=externalId", "/sort", /cannot be combined with q/],
    ];
    for (const [query, at, message] of cases) {
      const response = await get(query);
      assertError(response, 400, "SCHEMA_VIOLATION");
      const [fault] = response.json.error.details;
      assert.equal(fault.path, at, query);
      assert.match(fault.message, message);
    }
  });

  it("has hostile text, which is only text", async () => {
    for (const text of ["$ne", ".*", "^team", "(((", "[a-z]+", "team-noc'||'1", "\u{10FFFF}", "$where: 1"]) {
      const value = encodeURIComponent(text);
      assert.deepEqual(await readAll(`owner=${value}`), [], text);
      assert.deepEqual(await readAll(`tag=${value.slice(0, 50)}`), [], text);
      assert.deepEqual(await readAll(`label=${encodeURIComponent("tier=")}${value}`), [], text);
      if (/[a-z]/.test(text)) assert.deepEqual(await readAll(`owner=${value}&q=${value}`), [], text);
    }
    assert.deepEqual(await readAll(`tag=p1&q=${"x".repeat(200)}`), []);
  });

  it("has a cursor of another list", async () => {
    const { json } = await get("owner=team-shop&limit=1");
    assertError(await get(`limit=1&after=${json.next}`), 400, "SCHEMA_VIOLATION");
    const other = await get("limit=1");
    assertError(await get(`owner=team-shop&after=${other.json.next}`), 400, "SCHEMA_VIOLATION");
  });
});

describe("a page of a search by words", () => {
  it("ends early instead of reading all topics that were found before", async () => {
    const extra = Array.from({ length: 1_050 }, (_, i) => ({
      ...createTopicRecord({ externalId: `many-${String(i).padStart(4, "0")}`, contentQuery: `m=${i}` }),
      ...{ topic_name: `Many ${i}`, namespace: "many" },
    }));
    await topics.insertMany(extra);
    await records.insertMany(
      extra.map(({ topic_id: externalId, topic_name: name, namespace }) =>
        toDetailsRecord(
          toNextDetails(undefined, {
            ...{ topic: { externalId, name, namespace }, details: noDetails },
            ...{ by: "ann", at: new Date(0) },
          }),
        ),
      ),
    );
    // Where topics by prefix of the external id begin.
    const start = createCursorFormat("topics:externalId", ["string"]).encode(["many-"]);
    const first = (await get(`q=many&after=${start}`)).json;
    assert.deepEqual(first.topics, []);
    assert.ok(first.next !== null);
    const plain = { ...createTopicRecord({ externalId: "many-9999" }), namespace: "many" };
    await topics.insertOne(plain);
    const second = (await get(`q=many&after=${first.next}`)).json;
    assert.deepEqual(
      [second.topics.map(({ externalId }: { externalId: string }) => externalId), second.next],
      [["many-9999"], null],
    );
  });
});
