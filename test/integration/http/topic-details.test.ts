/** Describing topics: `PUT …/topics/{externalId}/details`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertError, call, type Call, type HttpResponse } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { definition } from "../../support/scene.ts";
import { service } from "../../support/shared-service.ts";
import { bootstrap } from "../../support/service.ts";

const topicsPath = "/api/topicsync/v1/topics";

const getTopic = (id: string, options: Call = {}): Promise<HttpResponse> =>
  call(`${service.url}${topicsPath}/${encodeURIComponent(id)}`, { method: "GET", ...options });

async function createTopic(namespace = "inventory"): Promise<string> {
  const body = { ...definition(), namespace };
  const { status, text } = await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body });
  assert.equal(status, 201, text);
  return body.externalId;
}

const put = (id: string, body: unknown, version: number | string = 0, options: Call = {}) =>
  call(`${service.url}${topicsPath}/${encodeURIComponent(id)}/details`, {
    ...{ method: "PUT", body },
    ...options,
    headers: { "If-Match": typeof version === "number" ? `"${version}"` : version, ...options.headers },
  });

const full = {
  owner: "team-noc",
  description: "Wakes the network operations centre.",
  contact: "noc@example.org",
  tags: ["p1", "network"],
  labels: { "cost-center": "4711", team: "" },
  lifecycle: "deprecated",
  sunset: "2027-01-01",
  consumers: [{ name: "noc-dashboard", contact: "dash@example.org" }, { name: "reports" }],
  protected: true,
};

/** What a topic that was never described has. */
const empty = {
  ...{ owner: "", description: "", contact: "", tags: [], labels: {}, lifecycle: "active", sunset: null },
  ...{ replacedBy: "", consumers: [], protected: false, version: 0, set: null, path: null, applied: null },
  ...{ changedOn: null, changedBy: "" },
};

describe("the details of a topic", () => {
  it("are empty at first, and then what was put, with a version", async () => {
    const [id, successor] = [await createTopic(), await createTopic()];
    assert.deepEqual((await getTopic(id)).json.details, empty);
    const response = await put(id, { ...full, replacedBy: successor });
    assert.equal(response.status, 200, response.text);
    assert.equal(response.headers.get("etag"), '"1"');
    const { changedOn, ...details } = response.json.details;
    assert.deepEqual(
      { ...details, changedOn: null },
      {
        ...empty,
        ...full,
        ...{ replacedBy: successor, tags: ["network", "p1"], version: 1, changedBy: bootstrap.user },
        consumers: [full.consumers[0], { name: "reports", contact: "" }],
      },
    );
    assert.deepEqual((await getTopic(id)).json, response.json);
    assert.ok(Date.parse(changedOn) >= Date.parse(response.json.updatedOn));

    const emptied = await put(id, {}, 1);
    assert.equal(emptied.json.details.version, 2);
    assert.deepEqual(
      { ...emptied.json.details, changedOn: null },
      { ...empty, version: 2, changedBy: bootstrap.user },
    );
  });

  it("are in lists, of the topics that have some", async () => {
    const namespace = unique("namespace");
    const [described, plain] = [await createTopic(namespace), await createTopic(namespace)];
    await put(described, { owner: "ann" });
    const { json } = await call(`${service.url}${topicsPath}?namespace=${namespace}`, { method: "GET" });
    const owners = json.topics.map((one: { externalId: string; details?: { owner: string } }) => [
      one.externalId,
      one.details?.owner,
    ]);
    assert.deepEqual(Object.fromEntries(owners), { [described]: "ann", [plain]: undefined });
  });

  it("may be those of a disabled topic, and survive until it is enabled", async () => {
    const id = await createTopic();
    await put(id, { owner: "ann" });
    await call(`${service.url}${topicsPath}/${id}/disable`);
    assert.equal((await put(id, { owner: "bob" }, 1)).json.details.owner, "bob");
    const { json } = await call(`${service.url}${topicsPath}/${id}/enable`);
    assert.deepEqual([json.state, json.details.owner], ["active", "bob"]);
  });
});

describe("a condition on the version", () => {
  it("is required, and must be a version", async () => {
    const id = await createTopic();
    const url = `${service.url}${topicsPath}/${id}/details`;
    assertError(await call(url, { method: "PUT", body: {} }), 428, "VERSION_REQUIRED");
    for (const wrong of ["0", '"0", "1"']) assertError(await put(id, {}, wrong), 400, "BAD_REQUEST");
    for (const foreign of ['W/"0"', '"a"', '"-1"', '"0.5"', '"9999999999999999"'])
      assertError(await put(id, {}, foreign), 412, "VERSION_CONFLICT");
    for (const version of [1, 2]) {
      const { headers, json } = await put(id, { owner: `owner ${version}` }, "*");
      assert.deepEqual([headers.get("etag"), json.details.version], [`"${version}"`, version]);
    }
  });

  it("rejects what was written for another version, and stores nothing", async () => {
    const id = await createTopic();
    assertError(await put(id, full, 1), 412, "VERSION_CONFLICT");
    await put(id, { owner: "ann" });
    for (const version of [0, 2]) assertError(await put(id, full, version), 412, "VERSION_CONFLICT");
    assert.equal((await getTopic(id)).json.details.owner, "ann");
  });

  it("is not needed by a repeated request, which changes nothing", async () => {
    const id = await createTopic();
    await put(id, full);
    const audited = service.log.filter(({ msg }) => msg === "topic.described").length;
    const again = await put(id, { ...full, tags: ["network", "p1", "p1"] });
    assert.deepEqual([again.status, again.json.details.version], [200, 1]);
    assert.equal(service.log.filter(({ msg }) => msg === "topic.described").length, audited);
  });
});

describe("the history of details", () => {
  const listDescribed = async (id: string, options: Call = {}): Promise<Record<string, unknown>[]> => {
    const url = `${service.url}${topicsPath}/${id}/versions`;
    const { json } = await call(url, { method: "GET", ...options });
    return (json.versions as Record<string, unknown>[]).filter((one) => "action" in one);
  };

  it("says who changed which members, among the versions", async () => {
    const id = await createTopic();
    await put(id, { owner: "ann", tags: ["p1"] });
    const { json } = await put(id, { owner: "bob", tags: ["p1"], labels: { a: "1" } }, 1);
    await put(id, { owner: "bob", tags: ["p1"], labels: { a: "1" } }, 2);
    assertError(await put(id, {}, 1), 412, "VERSION_CONFLICT");
    const { json: list } = await call(`${service.url}${topicsPath}/${id}/versions`, { method: "GET" });
    assert.deepEqual(
      list.versions.map(({ action, version }: { action?: string; version: number }) => [action, version]),
      [
        ["described", 2],
        ["described", 1],
        [undefined, 1],
      ],
    );
    const [second, first] = list.versions;
    assert.deepEqual(second, {
      ...{ action: "described", externalId: id, version: 2 },
      ...{ changedOn: json.details.changedOn, changedBy: bootstrap.user },
      changes: [
        { member: "owner", from: "ann", to: "bob" },
        { member: "labels", from: {}, to: { a: "1" } },
      ],
    });
    assert.deepEqual(first.changes, [
      { member: "owner", from: "", to: "ann" },
      { member: "tags", from: [], to: ["p1"] },
    ]);
    const at = async (time: string): Promise<object> => {
      const url = `${service.url}${topicsPath}/${id}?at=${encodeURIComponent(time)}`;
      return (await call(url, { method: "GET" })).json.details as object;
    };
    assert.partialDeepStrictEqual(await at(first.changedOn), { owner: "ann" });
    assert.deepEqual(await at(second.changedOn), json.details);
    const url = `${service.url}${topicsPath}?externalId=${id}&at=${encodeURIComponent(first.changedOn)}`;
    const listed = await call(url, { method: "GET" });
    assert.partialDeepStrictEqual(listed.json.topics[0].details, { owner: "ann", set: null });
    assert.deepEqual((await call(`${url}&set=noc`, { method: "GET" })).json.topics, []);
  });

  it("hides what was written in a foreign namespace", async () => {
    const id = await createTopic("sales");
    await put(id, { owner: "team-sales" });
    await call(`${service.url}${topicsPath}/${id}/disable`);
    const body = { ...definition(id), namespace: "assurance" };
    assert.equal((await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body })).status, 201);
    const key = await createKey(service.url, "topics.read@assurance", "topics.write@assurance");
    assert.deepEqual(await listDescribed(id, { key }), []);
    assert.equal((await put(id, { owner: "team-noc" }, 1, { key })).status, 200);
    const shown = await listDescribed(id, { key });
    assert.deepEqual(
      shown.map(({ version, changes }) => [version, changes]),
      [[2, null]],
    );
    assert.deepEqual((await listDescribed(id))[0]?.["changes"], [
      { member: "namespace", from: "sales", to: "assurance" },
      { member: "owner", from: "team-sales", to: "team-noc" },
    ]);
  });

  it("does not tell whether somebody guessed what is hidden", async () => {
    const id = await createTopic("sales");
    const hidden = (await put(id, { owner: "team-unseen" })).json.details;
    await call(`${service.url}${topicsPath}/${id}/disable`);
    const body = { ...definition(id), namespace: "assurance" };
    await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body });
    const key = await createKey(service.url, "topics.read@assurance", "topics.write@assurance");
    const guessed = (await put(id, { owner: "team-unseen" }, 1, { key })).json.details;
    assert.notEqual(guessed.changedBy, hidden.changedBy);
    assert.ok(guessed.changedOn > hidden.changedOn);
  });
});

describe("details that are not valid", () => {
  it("are rejected with the member and the rule, and not stored", async () => {
    const id = await createTopic();
    const cases: [body: object, path: string, message: RegExp][] = [
      [{ owner: "x\0" }, "/owner", /without NUL/],
      [{ labels: { $where: "1" } }, "/labels/$where", /^has a name that must be/],
      [{ replacedBy: "nothing-like-this" }, "/replacedBy", /active topic: "nothing-like-this"/],
      [{ consumers: [{ name: "a" }, { name: "a" }] }, "/consumers/1/name", /another consumer/],
      [{ set: "mine" }, "/set", /not a known member/],
    ];
    for (const [body, path, message] of cases) {
      const response = await put(id, body);
      assertError(response, 400, "SCHEMA_VIOLATION");
      const [fault] = response.json.error.details;
      assert.equal(fault.path, path);
      assert.match(fault.message, message);
    }
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`l${i}`, "x"]));
    assertError(await put(id, { labels: many }), 413, "BODY_TOO_LARGE");
    assert.equal((await getTopic(id)).json.details.version, 0);
  });

  it("are those of a topic that does not exist", async () => {
    assertError(await put("nothing-like-this", {}), 404, "NOT_FOUND");
    assertError(await put("0".repeat(32), {}), 404, "NOT_FOUND");
    assertError(await put("a\0b", {}), 404, "NOT_FOUND");
  });

  it("are not those whose successor is gone since it was named", async () => {
    const [id, successor] = [await createTopic(), await createTopic()];
    await put(id, { replacedBy: successor });
    await call(`${service.url}${topicsPath}/${successor}/disable`);
    const changed = await put(id, { replacedBy: successor, owner: "ann" }, 1);
    assert.equal(changed.status, 200, changed.text);
    const other = await createTopic();
    assertError(await put(other, { replacedBy: successor }), 400, "SCHEMA_VIOLATION");
  });
});

describe("rights limited to namespaces", () => {
  it("name what is missing for a visible topic, and hide the others", async () => {
    const id = await createTopic("sales");
    const reader = await createKey(service.url, "topics.read", "topics.write@assurance");
    assertError(await put(id, {}, 0, { key: reader }), 403, "FORBIDDEN");
    const stranger = await createKey(service.url, "topics.read@assurance", "topics.write@assurance");
    assertError(await put(id, {}, 0, { key: stranger }), 404, "NOT_FOUND");
  });

  it("do not tell whether a successor exists in a foreign namespace", async () => {
    const [own, foreign] = [await createTopic("assurance"), await createTopic("sales")];
    const key = await createKey(service.url, "topics.read@assurance", "topics.write@assurance");
    const responses = [];
    for (const replacedBy of [foreign, "nothing-like-this"])
      responses.push(await put(own, { replacedBy }, 0, { key }));
    for (const response of responses) assertError(response, 400, "SCHEMA_VIOLATION");
    const [one, other] = responses.map(({ text }) => text);
    assert.equal(one?.replaceAll(foreign, "nothing-like-this"), other);
    assert.equal((await put(own, { replacedBy: await createTopic("assurance") }, 0, { key })).status, 200);
  });

  it("do not show what was written when the external id belonged to a foreign namespace", async () => {
    const id = await createTopic("sales");
    await put(id, { owner: "team-sales", tags: ["secret"] });
    await call(`${service.url}${topicsPath}/${id}/disable`);
    const body = { ...definition(id), namespace: "assurance" };
    assert.equal((await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body })).status, 201);

    const key = await createKey(service.url, "topics.read@assurance", "topics.write@assurance");
    assert.deepEqual((await getTopic(id, { key })).json.details, { ...empty, version: 1 });
    assert.equal((await getTopic(id)).json.details.owner, "team-sales");
    for (const query of ["owner=team-sales", "tag=secret", "q=secret"]) {
      const { json } = await call(`${service.url}${topicsPath}?${query}`, { method: "GET", key });
      assert.deepEqual(json.topics, [], query);
    }
    // A guess of what is hidden fails like any other.
    assertError(
      await put(id, { owner: "team-sales", tags: ["secret"] }, 0, { key }),
      412,
      "VERSION_CONFLICT",
    );
    assert.equal((await put(id, { owner: "team-noc" }, 1, { key })).json.details.version, 2);
    assert.equal((await getTopic(id, { key })).json.details.owner, "team-noc");
  });
});
