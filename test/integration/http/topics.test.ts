import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertError, call, toBasicAuthorization, type HttpResponse } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { definition } from "../../support/scene.ts";
import { service } from "../../support/shared-service.ts";
import { bootstrap } from "../../support/service.ts";

const records = service.db.collection<Record<string, unknown> & { _id: string }>("svc_api_notif_mgmt_topic");
const topicUrl = (path = "/api/svc_api_notif_mgmt/topic"): string => `${service.url}${path}`;
const create = (body: unknown): Promise<HttpResponse> => call(topicUrl(), { body });

describe("creating a topic", () => {
  it("returns 201 with exactly the six response fields and stores the record of specification 2.4", async () => {
    const body = definition();
    const { status, json } = await create(body);
    assert.equal(status, 201);
    const { id, ...rest } = json;
    assert.deepEqual(rest, body);
    assert.match(id, /^[0-9a-f]{32}$/);
    const record = await records.findOne({ topic_id: body.externalId });
    assert.ok(record !== null);
    const { sys_created_on, sys_updated_on, ...fields } = record;
    assert.ok(sys_created_on instanceof Date && sys_updated_on instanceof Date);
    assert.deepEqual(fields, {
      _id: id,
      topic_name: body.name,
      topic_id: body.externalId,
      header_query: body.headerQuery,
      content_query: body.contentQuery,
      namespace: body.namespace,
      user_created: false,
      type: "egress",
      source: { kind: "http", user: bootstrap.user },
    });
  });

  for (const path of [
    "/api/svc_api_notif_mgmt/topic",
    "/api/svc_api_notif_mgmt/v1/topic",
    "/api/svc_api_notif_mgmt/v2/topic",
    "/api/sn_api_notif_mgmt/topic",
    "/api/sn_api_notif_mgmt/v1/topic",
    "/api/sn_api_notif_mgmt/v2/topic",
  ]) {
    it(`works at ${path}`, async () => {
      assert.equal((await call(topicUrl(path), { body: definition() })).status, 201);
    });
  }

  it("treats a missing member and null as the empty string", async () => {
    const id = unique("id");
    const { status, json } = await create({ name: id, externalId: id, namespace: null });
    assert.equal(status, 201);
    assert.deepEqual(
      { namespace: json.namespace, headerQuery: json.headerQuery, contentQuery: json.contentQuery },
      { namespace: "", headerQuery: "", contentQuery: "" },
    );
    const again = await create({ name: id, externalId: unique("id"), namespace: "", headerQuery: null });
    assertError(again, 400, "DUPLICATE_COMBINATION");
  });

  it("rejects names, external ids and namespaces of more than 1,000 characters", async () => {
    const longest = unique("id").padEnd(1_000, "x");
    assert.equal((await create({ name: longest, externalId: longest, namespace: longest })).status, 201);
    const longer = `${longest}x`;
    const body = { name: longer, externalId: longer, namespace: longer };
    const paths = ["/externalId", "/name", "/namespace"];
    const response = await create(body);
    assertError(response, 400, "SCHEMA_VIOLATION");
    assert.deepEqual(response.json.error.details.map((one: { path: string }) => one.path).toSorted(), paths);
    const { json } = await call(topicUrl("/api/topicsync/v1/topic-check"), { body });
    assert.deepEqual(json.faults.map((one: { path: string }) => one.path).toSorted(), paths);
  });

  it("still shows and disables a stored topic with longer texts", async () => {
    const text = unique("id").padEnd(2_000, "x");
    const { json: created } = await create(definition());
    const fields = { topic_id: text, topic_name: text, namespace: text };
    await records.updateOne({ _id: created.id }, { $set: fields });
    const url = topicUrl(`/api/topicsync/v1/topics/${text}`);
    const { status, json: found } = await call(url, { method: "GET" });
    assert.deepEqual([status, found.externalId], [200, text]);
    const { status: disabled } = await call(`${url}/disable`, { body: {} });
    assert.equal(disabled, 200);
  });

  it("reports both duplicates, the external id first", async () => {
    const body = definition();
    await create(body);
    const response = await create(body);
    assertError(response, 400, "DUPLICATE_EXTERNAL_ID");
    const messages = response.json.error.details.map((one: { message: string }) => one.message);
    assert.equal(messages.length, 2);
    assert.match(messages[0], /unique topic external id/);
    assert.match(messages[1], /unique combination/);
  });

  it("creates one topic when the same one is sent many times concurrently", async () => {
    const body = definition();
    const responses = await Promise.all(Array.from({ length: 8 }, () => create(body)));
    assert.equal(responses.filter(({ status }) => status === 201).length, 1);
    const rejected = responses.filter(({ status }) => status !== 201);
    assert.equal(rejected.length, 7);
    for (const response of rejected) {
      assertError(response, 400, "DUPLICATE_EXTERNAL_ID");
      assert.match(response.json.error.message, /unique topic external id/);
    }
    assert.equal(await records.countDocuments({ topic_id: body.externalId }), 1);
  });

  it("stores any JSON text unchanged", async () => {
    const externalId = unique("id");
    const body = { ...definition(externalId), name: "Störungen 🛰 \u2028 \\ \" ' $gt {a:1}", namespace: " " };
    const { status, json } = await create(body);
    assert.equal(status, 201);
    assert.equal(json.name, body.name);
    assert.equal((await records.findOne({ topic_id: externalId }))?.["topic_name"], body.name);
  });
});

describe("an invalid topic", () => {
  const faults = async (body: unknown): Promise<unknown> => {
    const response = await create(body);
    assertError(response, 400, "SCHEMA_VIOLATION");
    return response.json.error.details.map((one: { path: string }) => one.path).toSorted();
  };

  it("is rejected with all its faults at once, each with its path", async () => {
    const body = { name: 7, namespace: ["x"], headerQuery: { $ne: "" }, contentQuery: true, more: 1 };
    assert.deepEqual(await faults(body), [
      "/contentQuery",
      "/externalId",
      "/headerQuery",
      "/more",
      "/name",
      "/namespace",
    ]);
  });

  it("is rejected when name or externalId is missing, empty or null", async () => {
    assert.deepEqual(await faults({}), ["/externalId", "/name"]);
    assert.deepEqual(await faults({ name: "", externalId: "" }), ["/externalId", "/name"]);
    assert.deepEqual(await faults({ name: null, externalId: null }), ["/externalId", "/name"]);
  });

  it("is rejected for an unknown member, with a suggestion", async () => {
    const response = await create({ ...definition(), headerquery: "x" });
    assertError(response, 400, "SCHEMA_VIOLATION");
    assert.deepEqual(response.json.error.details, [
      { path: "/headerquery", message: "is not a known member; did you mean headerQuery?" },
    ]);
  });

  it("is rejected for an invalid filter, with its path and position", async () => {
    const externalId = unique("id");
    const filters = { headerQuery: "eventType=A=B", contentQuery: "a=1;b=2" };
    const response = await create({ ...definition(externalId), ...filters });
    assertError(response, 400, "BAD_FILTER");
    assert.deepEqual(
      response.json.error.details.map(({ path }: { path: string }) => path),
      ["/headerQuery", "/contentQuery"],
    );
    assert.match(response.json.error.details[0].message, /second "=".*at character 12$/);
    assert.match(response.json.error.details[1].message, /TMF630.*at character 4$/);
    assert.equal(await records.findOne({ topic_id: externalId }), null);
  });

  it("is rejected when it is not an object", async () => {
    for (const body of ["null", "[]", '"text"', "7"]) assert.deepEqual(await faults(body), [""]);
  });

  it("is rejected for a lone surrogate or NUL, which would not be stored unchanged", async () => {
    assert.deepEqual(await faults(`{"name":"a\\ud800","externalId":"a\\u0000"}`), ["/externalId", "/name"]);
  });

  it("is rejected when it is not JSON, or empty", async () => {
    assertError(await create("{"), 400, "MALFORMED_JSON");
    assertError(await create('{"name":"a",}'), 400, "MALFORMED_JSON");
    const none = await call(topicUrl(), { headers: { "Content-Type": "application/json" } });
    assertError(none, 400, "SCHEMA_VIOLATION");
  });

  it("is rejected with 413 above 100 kB only", async () => {
    const pad = (bytes: number) => ({
      body: JSON.stringify(definition()).padEnd(bytes),
      headers: { "Content-Type": "application/json" },
    });
    assertError(await call(topicUrl(), pad(102_401)), 413, "BODY_TOO_LARGE");
    assert.equal((await call(topicUrl(), pad(102_400))).status, 201);
  });

  it("is rejected with 415 for another content type or none", async () => {
    const text = JSON.stringify(definition());
    for (const type of [
      "text/plain",
      "application/xml",
      "application/jsonp",
      "application/x-www-form-urlencoded",
    ]) {
      assertError(
        await call(topicUrl(), { body: text, headers: { "Content-Type": type } }),
        415,
        "UNSUPPORTED_MEDIA_TYPE",
      );
    }
    const none = await fetch(topicUrl(), {
      method: "POST",
      headers: { Authorization: toBasicAuthorization(bootstrap) },
      body: new Blob([text]),
    });
    assert.equal(none.status, 415);
    const latin = await call(topicUrl(), {
      body: text,
      headers: { "Content-Type": "application/json; charset=latin1" },
    });
    assertError(latin, 415, "UNSUPPORTED_MEDIA_TYPE");
    const utf8 = await call(topicUrl(), {
      body: definition(),
      headers: { "Content-Type": "application/json; charset=utf-8" },
    });
    assert.equal(utf8.status, 201);
  });

  it("is rejected with 406 when JSON is not acceptable", async () => {
    const response = await call(topicUrl(), { body: definition(), headers: { Accept: "application/xml" } });
    assertError(response, 406, "NOT_ACCEPTABLE");
    const any = await call(topicUrl(), { body: definition(), headers: { Accept: "text/html, */*;q=0.1" } });
    assert.equal(any.status, 201);
  });
});

describe("the caller of createTopic", () => {
  it("gets 401 for missing, wrong and malformed credentials", async () => {
    for (const as of [undefined, { ...bootstrap, password: "wrong" }, { user: "nobody", password: "x" }]) {
      const response = await call(topicUrl(), { body: definition(), as });
      assertError(response, 401, "UNAUTHENTICATED");
      assert.match(response.headers.get("www-authenticate") ?? "", /^Basic realm=/);
    }
    for (const header of ["Basic", "Basic !!!", "Bearer abc", "Basic Og=="]) {
      const response = await call(topicUrl(), {
        body: definition(),
        as: undefined,
        headers: { Authorization: header },
      });
      assertError(response, 401, "UNAUTHENTICATED");
    }
  });

  it("is rejected before the body is read", async () => {
    assertError(await call(topicUrl(), { body: "{", as: undefined }), 401, "UNAUTHENTICATED");
  });
});

describe("paths and methods", () => {
  it("return 404 for unknown paths and versions", async () => {
    for (const path of [
      "/api",
      "/api/svc_api_notif_mgmt/v3/topic",
      "/api/svc_api_notif_mgmt/topics",
      "/api/now/v9/push/a/installation",
    ]) {
      assertError(await call(topicUrl(path), { body: definition() }), 404, "NOT_FOUND");
    }
  });

  it("return 405 at a fixed path that a path parameter would match as well", async () => {
    const response = await call(topicUrl("/api/topicsync/v1/dead-letters/replay-outcomes"), {
      method: "GET",
    });
    assertError(response, 405, "METHOD_NOT_ALLOWED");
    assert.equal(response.headers.get("allow"), "POST");
  });

  it("return 405 with the allowed methods", async () => {
    for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
      const response = await call(topicUrl(), { method });
      assertError(response, 405, "METHOD_NOT_ALLOWED");
      assert.equal(response.headers.get("allow"), "POST");
    }
  });
});

describe("the indexes of the database", () => {
  it("are exactly those declared", async () => {
    const { indexes } = await import("../../../src/storage/indexes.ts");
    const { collections } = await import("../../../src/storage/names.ts");
    for (const collection of Object.values(collections)) {
      const found = (await service.db.collection(collection).indexes()).map(({ name, key, unique: one }) => ({
        name,
        key,
        unique: one === true,
      }));
      const declared = indexes.filter((index) => index.collection === collection);
      assert.deepEqual(
        found
          .filter(({ name }) => name !== "_id_")
          .toSorted((a, b) => String(a.name).localeCompare(String(b.name))),
        declared
          .map(({ name, key, unique: one }) => ({ name, key, unique: one }))
          .toSorted((a, b) => a.name.localeCompare(b.name)),
      );
    }
  });
});
