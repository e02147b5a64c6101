/** Versions, conditional changes, history and restoring over HTTP. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { TopicChangesReply } from "../../../schemas/topics/changes.ts";
import type { VersionView } from "../../../schemas/topics/versions.ts";
import { assertError, call, type HttpResponse } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { bootstrap } from "../../support/service.ts";
import { service } from "../../support/shared-service.ts";

const v1 = (path: string): string => `${service.url}/api/topicsync/v1${path}`;

interface Definition {
  readonly externalId: string;
  readonly name: string;
  readonly namespace?: string;
  readonly contentQuery?: string;
}

const get = (path: string, key?: string): Promise<HttpResponse> =>
  call(v1(path), { method: "GET", ...(key !== undefined && { key }) });
const put = (externalId: string, version: number | "*", body: object, key?: string) =>
  call(v1(`/topics/${encodeURIComponent(externalId)}`), {
    ...{ method: "PUT", body, headers: { "If-Match": version === "*" ? "*" : `"${version}"` } },
    ...(key !== undefined && { key }),
  });
const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  call(v1(path), { body, headers });

async function create(definition: Partial<Definition> = {}): Promise<Definition & { id: string }> {
  const externalId = unique("topic");
  const body = { externalId, name: externalId, ...definition };
  const { status, json } = await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body });
  assert.equal(status, 201);
  return json as Definition & { id: string };
}

const listVersions = async (externalId: string): Promise<VersionView[]> =>
  (await get(`/topics/${externalId}/versions`)).json.versions as VersionView[];

describe("PUT of a topic", () => {
  it("changes it if it has the version, and tells the next one", async () => {
    const { externalId, id } = await create();
    const read = await get(`/topics/${externalId}`);
    assert.deepEqual([read.json.version, read.headers.get("ETag")], [1, '"1"']);
    const { status, json, headers } = await put(externalId, 1, {
      ...{ externalId, name: "Changed", contentQuery: "a=1" },
    });
    assert.equal(status, 200);
    assert.deepEqual(
      [json.id, json.version, json.name, json.contentQuery, json.previous.name, headers.get("ETag")],
      [id, 2, "Changed", "a=1", externalId, '"2"'],
    );
    assert.deepEqual((await get(`/topics/${externalId}`)).json, json);
  });

  it("changes nothing if somebody else has changed it, and says who and when", async () => {
    const { externalId } = await create();
    const { json: changed } = await put(externalId, 1, { externalId, name: "First" });
    const response = await put(externalId, 1, { externalId, name: "Second" });
    assertError(response, 412, "VERSION_CONFLICT");
    assert.equal(
      response.json.error.message,
      `The topic "${externalId}" has the version 2, not 1: the user "${bootstrap.user}" changed it at ${changed.updatedOn}.`,
    );
    assert.equal((await get(`/topics/${externalId}`)).json.name, "First");
    assert.equal((await listVersions(externalId)).length, 2);
  });

  it("requires If-Match, and only as an entity tag of this API", async () => {
    const { externalId } = await create();
    const url = v1(`/topics/${externalId}`);
    const body = { externalId, name: "x" };
    assertError(await call(url, { method: "PUT", body }), 428, "VERSION_REQUIRED");
    for (const tag of ["1", '"1", "2"', "any"])
      assertError(await call(url, { method: "PUT", body, headers: { "If-Match": tag } }), 400, "BAD_REQUEST");
    for (const tag of ['W/"1"', '"01"', '"1-gzip"']) {
      const response = await call(url, { method: "PUT", body, headers: { "If-Match": tag } });
      assertError(response, 412, "VERSION_CONFLICT");
      assert.match(response.json.error.detail, /proxy that compresses/);
    }
    assert.equal((await put(externalId, "*", body)).json.version, 2);
  });

  it("rejects what creating a topic rejects", async () => {
    const [one, other] = [await create(), await create()];
    const { externalId } = one;
    assertError(await put(externalId, 1, { externalId, name: "x", contentQuery: "a=*" }), 400, "BAD_FILTER");
    assertError(
      await put(externalId, 1, { ...one, id: undefined, name: other.name }),
      400,
      "DUPLICATE_COMBINATION",
    );
    assertError(
      await put(externalId, 1, { externalId: other.externalId, name: "x" }),
      400,
      "DUPLICATE_EXTERNAL_ID",
    );
    assertError(await put(externalId, 1, { externalId, nme: "x" }), 400, "SCHEMA_VIOLATION");
    assertError(await put(unique("absent"), 1, { externalId, name: "x" }), 404, "NOT_FOUND");
  });

  it("renames a topic, which the picker follows, and whose history goes on", async () => {
    const value = unique("value");
    const { externalId, id } = await create({ contentQuery: `a=${value}` });
    const pick = async (): Promise<string[]> => {
      const url = `${service.url}/api/svc_api_notif_mgmt/topic/pick`;
      const { json } = await call(url, { body: { event: { a: value } } });
      return (json.topics as Definition[]).map((one) => one.externalId);
    };
    assert.ok((await pick()).includes(externalId));
    const next = unique("renamed");
    const { json } = await put(externalId, 1, { externalId: next, name: next, contentQuery: `a=${value}` });
    assert.deepEqual([json.id, json.externalId, json.version], [id, next, 2]);
    const picked = await pick();
    assert.deepEqual([picked.includes(next), picked.includes(externalId)], [true, false]);
    assert.equal((await get(`/topics/${externalId}`)).status, 404);
    assert.deepEqual(
      (await listVersions(next)).map((one) => [one.externalId, one.version, one.endedAs]),
      [
        [next, 2, undefined],
        [externalId, 1, "renamed"],
      ],
    );
    assert.equal((await get(`/topics/${next}?version=1`)).json.externalId, externalId);
  });
});

describe("the history of a topic", () => {
  it("has every version, with what ended it, page by page", async () => {
    const { externalId, id } = await create();
    for (const version of [1, 2, 3])
      await put(externalId, version, { externalId, name: `${externalId} ${version + 1}` });
    await post(`/topics/${externalId}/disable`, {});
    await post(`/topics/${externalId}/enable`, {});
    const all = await listVersions(externalId);
    assert.deepEqual(
      all.map((one) => [one.id, one.version, one.endedAs]),
      [
        [id, 5, undefined],
        [id, 4, "disabled"],
        [id, 3, "changed"],
        [id, 2, "changed"],
        [id, 1, "changed"],
      ],
    );
    // Each begins when the one before ends, except where the topic was disabled.
    assert.deepEqual(
      all.slice(2).map(({ validTo }) => validTo),
      all.slice(1, -1).map(({ validFrom }) => validFrom),
    );
    const pages: unknown[] = [];
    let after = "";
    do {
      const { json } = await get(`/topics/${externalId}/versions?limit=2${after}`);
      pages.push(...json.versions);
      after = json.next === null ? "" : `&after=${json.next}`;
    } while (after !== "");
    assert.deepEqual(pages, all);
    assertError(await get(`/topics/${externalId}/versions?after=x`), 400, "SCHEMA_VIOLATION");
    assertError(await get(`/topics/${unique("absent")}/versions`), 404, "NOT_FOUND");
  });

  it("shows the topic as it was", async () => {
    const { externalId } = await create();
    const { json: first } = await get(`/topics/${externalId}`);
    const { json: second } = await put(externalId, 1, { externalId, name: "Second" });
    const { json: old, headers } = await get(`/topics/${externalId}?version=1`);
    assert.deepEqual(
      [old.name, old.version, old.replaced.on, old.replaced.as, old.createdOn, headers.get("ETag")],
      [externalId, 1, second.updatedOn, "changed", first.createdOn, '"1"'],
    );
    for (const [at, name] of [
      [first.updatedOn, externalId],
      [new Date(Date.parse(second.updatedOn) - 1).toISOString(), externalId],
      [second.updatedOn, "Second"],
    ])
      assert.equal((await get(`/topics/${externalId}?at=${at}`)).json.name, name);
    assertError(await get(`/topics/${externalId}?at=2020-01-01T00:00:00Z`), 404, "NOT_FOUND");
    assertError(await get(`/topics/${externalId}?version=3`), 404, "NOT_FOUND");
    assertError(await get(`/topics/${externalId}?version=1&at=${first.updatedOn}`), 400, "SCHEMA_VIOLATION");
    assertError(await get(`/topics/${externalId}?at=yesterday`), 400, "SCHEMA_VIOLATION");
  });

  it("lists the topics as they were, page by page", async () => {
    const namespace = unique("namespace");
    const created = [await create({ namespace }), await create({ namespace }), await create({ namespace })];
    const ids = created.map(({ externalId }) => externalId).toSorted();
    const [first = "", second = ""] = ids;
    const at = new Date().toISOString();
    await until("the clock has moved on", () => new Date().toISOString() > at);
    await put(first, 1, { externalId: first, name: `${first} 2`, namespace });
    await post(`/topics/${second}/disable`, {});
    const list = async (limit: number): Promise<string[]> => {
      const names: string[] = [];
      let after = "";
      do {
        const { json } = await get(`/topics?namespace=${namespace}&at=${at}&limit=${limit}${after}`);
        names.push(...json.topics.map(({ name }: Definition) => name));
        after = json.next === null ? "" : `&after=${json.next}`;
      } while (after !== "");
      return names;
    };
    for (const limit of [50, 1]) assert.deepEqual(await list(limit), ids);
    for (const other of ["state=disabled", "search=a", "sort=name"])
      assertError(await get(`/topics?at=${at}&${other}`), 400, "SCHEMA_VIOLATION");
  });
});

describe("restoring a version", () => {
  it("stores it as the next version, if the topic has the version of If-Match", async () => {
    const { externalId, id } = await create();
    await put(externalId, 1, { externalId, name: `${externalId} 2` });
    const path = `/topics/${externalId}/restore`;
    assertError(await post(path, { version: 1 }, { "If-Match": '"1"' }), 412, "VERSION_CONFLICT");
    const { json } = await post(path, { version: 1 }, { "If-Match": '"2"' });
    assert.deepEqual([json.id, json.version, json.name], [id, 3, externalId]);
    assertError(await post(path, { version: 9 }), 404, "NOT_FOUND");
  });
});

describe("POST of topic changes", () => {
  const toTopic = (externalId: string, name: string) => ({ externalId, name });

  it("makes all changes, also those that exchange combinations", async () => {
    const [a, b, gone] = [await create(), await create(), await create()];
    const fresh = unique("fresh");
    const changes = [
      { kind: "change", externalId: a.externalId, version: 1, topic: toTopic(a.externalId, b.name) },
      { kind: "change", externalId: b.externalId, version: 1, topic: toTopic(b.externalId, a.name) },
      { kind: "create", topic: toTopic(fresh, gone.name) },
      {
        kind: "disable",
        externalId: gone.externalId,
        version: 1,
        expected: toTopic(gone.externalId, gone.name),
      },
    ];
    const label = { set: "assurance", revision: "3f2a91c", plan: "7d" };
    const { status, json } = await post("/topic-changes", { changes, label });
    assert.equal(status, 200);
    assert.deepEqual(
      (json as TopicChangesReply).results.map((one) => [one.outcome, one.externalId, one.version]),
      [
        ["changed", a.externalId, 2],
        ["changed", b.externalId, 2],
        ["created", fresh, 1],
        ["disabled", gone.externalId, 1],
      ],
    );
    assert.deepEqual((await get(`/topics/${a.externalId}`)).json.source.change, label);
    const again = await post("/topic-changes", { changes, label });
    assert.ok(again.json.results.every(({ outcome }: { outcome: string }) => outcome === "unchanged"));
  });

  it("makes none in a dry run, and says what it would make", async () => {
    const a = await create();
    const fresh = unique("fresh");
    const changes = [
      { kind: "change", externalId: a.externalId, version: 1, topic: toTopic(a.externalId, unique("name")) },
      { kind: "create", topic: toTopic(fresh, fresh) },
    ];
    const { status, json } = await post("/topic-changes", { changes, dryRun: true });
    assert.deepEqual(
      [status, (json as TopicChangesReply).results.map(({ outcome }) => outcome)],
      [200, ["changed", "created"]],
    );
    assert.equal((await get(`/topics/${a.externalId}`)).json.version, 1);
    assert.equal((await get(`/topics/${fresh}`)).status, 404);
    const taken = { kind: "create", topic: toTopic(unique("other"), a.name) };
    assertError(
      await post("/topic-changes", { changes: [taken], dryRun: true }),
      400,
      "DUPLICATE_COMBINATION",
    );
  });

  it("makes none if one cannot be made, and names all of these", async () => {
    const [a, b] = [await create(), await create()];
    const changes = [
      { kind: "change", externalId: a.externalId, version: 1, topic: toTopic(a.externalId, "Other") },
      { kind: "change", externalId: b.externalId, version: 2, topic: toTopic(b.externalId, "Other too") },
      { kind: "disable", externalId: unique("absent"), version: 1 },
    ];
    const response = await post("/topic-changes", { changes });
    assertError(response, 412, "VERSION_CONFLICT");
    assert.deepEqual(
      response.json.error.details.map(({ path }: { path: string }) => path),
      ["/changes/1", "/changes/2"],
    );
    assert.equal((await get(`/topics/${a.externalId}`)).json.version, 1);
  });

  it("requires the members of each kind, and rejects others", async () => {
    const response = await post("/topic-changes", {
      changes: [
        { kind: "change", externalId: "a" },
        { kind: "create", topic: toTopic("a", "a"), version: 1 },
      ],
    });
    assertError(response, 400, "SCHEMA_VIOLATION");
    assert.deepEqual(
      response.json.error.details.map(({ path }: { path: string }) => path),
      ["/changes/0/version", "/changes/0/topic"],
    );
    assertError(await post("/topic-changes", { changes: [] }), 400, "SCHEMA_VIOLATION");
  });

  it("takes at most 500 changes in a body of up to 1 MiB", async () => {
    const createMany = (length: number) =>
      Array.from({ length }, () => {
        const externalId = unique("many");
        return {
          kind: "create",
          topic: { ...toTopic(externalId, externalId), contentQuery: `a=${"b".repeat(1_500)}` },
        };
      });
    const changes = createMany(100);
    const { status, json } = await post("/topic-changes", { changes });
    assert.deepEqual([status, json.results.length], [200, 100]);
    assertError(await post("/topic-changes", { changes: createMany(501) }), 400, "SCHEMA_VIOLATION");
    const large = {
      kind: "create",
      topic: { ...toTopic("large", "large"), contentQuery: "a".repeat(1_048_576) },
    };
    assertError(await post("/topic-changes", { changes: [large] }), 413, "BODY_TOO_LARGE");
  });
});

describe("a topic whose external id cannot be part of a path", () => {
  it("is changed, described, disabled and restored by its sys_id", async () => {
    const externalId = "..";
    const { id } = await create({ externalId });
    const changed = await put(id, 1, { externalId, name: "changed" });
    assert.deepEqual([changed.status, changed.json.externalId, changed.json.id], [200, externalId, id]);
    const headers = { "If-Match": '"0"' };
    const described = await call(v1(`/topics/${id}/details`), {
      ...{ method: "PUT", body: { owner: "noc" }, headers },
    });
    assert.equal(described.json.details.owner, "noc", described.text);
    assert.equal((await post(`/topics/${id}/disable`, {})).json.state, "disabled");
    assert.deepEqual((await get(`/topics/${id}`)).json.state, "disabled");
    // Two definitions, and the details.
    assert.equal((await get(`/topics/${id}/versions`)).json.versions.length, 3);
    assert.equal((await post(`/topics/${id}/enable`, {})).json.state, "active");
    const restored = await post(`/topics/${id}/restore`, { version: 1 });
    assert.deepEqual([restored.json.externalId, restored.json.version], [externalId, 4], restored.text);
  });

  it("is not found by those who may not see it", async () => {
    const { id, externalId } = await create({ namespace: unique("hidden") });
    const key = await createKey(service.url, "topics.read@other", "topics.write@other");
    const response = await put(id, 1, { externalId, name: "x", namespace: "other" }, key);
    assertError(response, 404, "NOT_FOUND");
    assert.ok(!response.text.includes(externalId), response.text);
  });
});
