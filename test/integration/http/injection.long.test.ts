/**
 * Malicious bodies, paths and queries. Expected responses follow from RFC 8259, RFC 3986 and the contract,
 * section 3.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertError } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { service } from "../../support/shared-service.ts";
import {
  assertIntact,
  register,
  remove,
  topic,
  pick,
  request,
  send,
  sendBytes,
  getFaultPaths,
} from "./malicious-requests.ts";

async function assertFaults(path: string, body: unknown, faults: readonly string[]): Promise<void> {
  const response = await send(path, body);
  assertError(response, 400, "SCHEMA_VIOLATION");
  assert.deepEqual(getFaultPaths(response).toSorted(), faults.toSorted());
}

/** Values that MongoDB, or a careless program, would interpret. */
const nonStrings: readonly unknown[] = [
  {},
  { $ne: null },
  { $gt: "" },
  { $where: "sleep(1000)" },
  { toString: "ios" },
  [],
  ["ios"],
  [["ios"]],
  0,
  1e308,
  true,
];

describe("a value that is not a string", () => {
  it("is rejected in place of any string", async () => {
    for (const value of nonStrings) {
      await assertFaults(register, { platform: value, token: value }, ["/platform", "/token"]);
      await assertFaults(register, { platform: "ios", token: "t", previousToken: value }, ["/previousToken"]);
      await assertFaults(remove, { platform: value }, ["/platform"]);
      const all = {
        name: value,
        externalId: value,
        namespace: value,
        headerQuery: value,
        contentQuery: value,
      };
      await assertFaults(
        topic,
        all,
        Object.keys(all).map((name) => `/${name}`),
      );
      await assertFaults(pick, { eventId: value, "@type": value, eventType: value }, [
        "/@type",
        "/eventId",
        "/eventType",
      ]);
    }
  });

  it("is rejected if it is a number out of range", async () => {
    await assertFaults(register, '{"platform":1e999,"token":-1e999}', ["/platform", "/token"]);
  });

  it("is rejected as the whole body", async () => {
    for (const body of ["[]", '["ios"]', '"ios"', "0", "true", "null"])
      for (const path of [register, remove, topic, pick]) await assertFaults(path, body, [""]);
  });

  it("is never stored", async () => {
    const isOther = (member: string) => ({ [member]: { $not: { $type: "string" } } });
    for (const [name, members] of Object.entries({
      sys_push_notif_app_install: ["token", "platform", "application", "user"],
      svc_api_notif_mgmt_topic: ["topic_id", "topic_name", "namespace", "header_query", "content_query"],
    }))
      assert.equal(await service.db.collection(name).countDocuments({ $or: members.map(isOther) }), 0, name);
  });
});

describe("a member name with a special meaning elsewhere", () => {
  const names = ["$where", "$set", "__proto__", "constructor", "prototype", "toString", "a.b", "", "\0"];

  it("is rejected as unknown", async () => {
    for (const name of names) {
      const member = `${JSON.stringify(name)}:{"x":1}`;
      await assertFaults(register, `{"platform":"ios","token":"t",${member}}`, [`/${name}`]);
      await assertFaults(remove, `{${member},"platform":"ios"}`, [`/${name}`]);
      await assertFaults(topic, `{"name":"n","externalId":"e",${member}}`, [`/${name}`]);
    }
  });

  it("does not add members to its object", async () => {
    const body =
      '{"__proto__":{"platform":"ios","token":"t"},"constructor":{"prototype":{"platform":"ios"}}}';
    await assertFaults(register, body, ["/__proto__", "/constructor", "/platform", "/token"]);
    await assertFaults(remove, '{"__proto__":{"platform":"ios"}}', ["/__proto__", "/platform"]);
    await assertFaults(remove, "{}", ["/platform"]);
  });

  it("is an ordinary name in events and filters", async () => {
    const externalId = unique("id");
    const filters = { headerQuery: "__proto__.x=1", contentQuery: "constructor.name=Object" };
    assert.equal((await send(topic, { name: externalId, externalId, ...filters })).status, 201);
    const matchesEvent = async (event: string): Promise<unknown> => {
      const { status, json } = await send(`${pick}?explain=${externalId}`, event);
      assert.equal(status, 200);
      return json.explain.matches;
    };
    assert.equal(await matchesEvent('{"event":{}}'), false, "inherited members do not count");
    const own = '{"__proto__":{"x":1},"event":{"constructor":{"name":"Object"}}}';
    assert.equal(await matchesEvent(own), true);
    assert.equal(await matchesEvent('{"eventType":"x"}'), false);
  });
});

describe("invalid text", () => {
  it("is rejected as a string: escaped NUL and lone surrogates", async () => {
    for (const text of ["a\\u0000", "\\u0000", "\\ud800", "a\\udc00b", "\\udc00\\ud800"]) {
      await assertFaults(register, `{"platform":"${text}","token":"${text}"}`, ["/platform", "/token"]);
      await assertFaults(topic, `{"name":"${text}","externalId":"${text}","namespace":"${text}"}`, [
        "/externalId",
        "/name",
        "/namespace",
      ]);
    }
  });

  it("is rejected as JSON: bytes that are not UTF-8", async () => {
    for (const bytes of [
      [0xc0, 0xaf], // An overlong slash.
      [0xe0, 0x80, 0xaf],
      [0xc1, 0xbf],
      [0xed, 0xa0, 0x80], // A surrogate.
      [0xf5, 0x80, 0x80, 0x80], // Beyond U+10FFFF.
      [0xe2, 0x82], // Truncated.
      [0x80],
      [0xff],
    ]) {
      const body = Buffer.concat([
        Buffer.from('{"platform":"ios","token":"'),
        Buffer.from(bytes),
        Buffer.from('"}'),
      ]);
      assertError(await sendBytes(register, body), 400, "MALFORMED_JSON");
    }
    const utf16 = Buffer.from('{"platform":"ios","token":"t"}', "utf16le");
    assertError(await sendBytes(register, utf16), 400, "MALFORMED_JSON");
  });
});

describe("an application name in the path", () => {
  const body = { platform: "ios", token: "token" };

  it("is decoded once and used literally", async () => {
    for (const name of [
      "%00",
      "App%00",
      "App%2F",
      "..%2FApp",
      "%2e%2e%2fApp",
      "..;",
      "..%3B",
      "App;x=1",
      "%252e%252e",
      "%2541pp",
      "App%20",
      "%20App",
      "App%0d%0aX-Injected:%201",
      "%EF%BC%A1pp", // A full-width A.
      "app",
      "*",
      "$ne",
      "[$ne]",
      "%7B%22$gt%22:%22%22%7D",
      "__proto__",
      "constructor",
      "hasOwnProperty",
      "%C3%A9".repeat(200),
    ]) {
      for (const operation of ["installation", "removeInstallation"]) {
        const sent = operation === "installation" ? body : { platform: "ios" };
        assertError(await send(`/api/now/push/${name}/${operation}`, sent), 400, "UNKNOWN_APPLICATION");
      }
    }
    assert.equal((await send("/api/now/push/%41pp/installation", body)).status, 200, "it is App");
  });

  it("is rejected if its percent-encoding is malformed", async () => {
    for (const name of ["%", "%4", "%zz", "%u0041pp", "%C0%AF", "%ED%A0%80", "%FF", "%E2%82"])
      assertError(await send(`/api/now/push/${name}/installation`, body), 400, "BAD_REQUEST");
  });

  it("does not match if it is empty", async () => {
    for (const path of [
      "/api/now/push//installation",
      "/api/now/push/installation",
      "//api/now/push/App/installation",
    ])
      assertError(await send(path, body), 404, "NOT_FOUND");
  });
});

describe("a query", () => {
  it("cannot create objects or arrays in place of strings", async () => {
    assertError(await send(`${pick}?explain=a&explain=b`, { event: {} }), 400, "SCHEMA_VIOLATION");
    assertError(await send(`${pick}?explain=`, { event: {} }), 400, "SCHEMA_VIOLATION");
    for (const query of [
      "explain[$ne]=1",
      "explain[]=1",
      "__proto__[explain]=1",
      "__proto__=1",
      "constructor=1",
    ]) {
      const { status, json } = await send(`${pick}?${query}`, { event: {} });
      assert.equal(status, 200);
      assert.deepEqual(Object.keys(json).toSorted(), ["topics", "total"], "no explanation was requested");
    }
  });

  it("matches no topic if it is hostile", async () => {
    for (const id of ["%00", "%FF", "$ne", "%7B%22$gt%22:%22%22%7D", "__proto__"])
      assertError(await send(`${pick}?explain=${id}`, { event: {} }), 404, "NOT_FOUND");
  });
});

describe("credentials", () => {
  it("are rejected unless they are a name and its password", async () => {
    const encoded = (text: string | Buffer) => `Basic ${Buffer.from(text).toString("base64")}`;
    for (const header of [
      encoded('{"$ne":1}:{"$ne":1}'),
      encoded("bootstrap\0:correct horse battery staple"),
      encoded(Buffer.from([0xff, 0xfe, 0x3a, 0xff])),
      encoded("__proto__:x"),
      encoded("bootstrap"),
      encoded(""),
      "Basic",
      "Basic %%%",
      "Bearer x",
      "Digest username=x",
    ]) {
      const response = await request(register, {
        as: undefined,
        headers: { Authorization: header },
        body: { platform: "ios", token: "t" },
      });
      assertError(response, 401, "UNAUTHENTICATED");
    }
  });
});

it("the service survives all of it", () => assertIntact(service.log));
