import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";

import { assertError, call, type HttpResponse } from "../../support/http.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { bootstrap } from "../../support/service.ts";

const service = useService({ PUSH_APPLICATIONS: "agent,other", PUSH_PLATFORMS: "ios,android" });
const records = service.db.collection<InstallationRecord>("sys_push_notif_app_install");
const day = 86_400_000;
const ann = { user: "ann", password: "password of ann" };

/** 25 installations of Ann's and a few special cases. */
const stored = [
  ...Array.from({ length: 25 }, (_, i) => installation(`token-of-ann-0123456789-${i}`)),
  installation("bobs-token-0123456789abcdef", { user: "bob", platform: "android" }),
  installation("gone-token-0123456789abcdef", {
    user: "bob",
    active: false,
    deactivated_on: new Date(),
    deactivated_reason: "Unregistered",
  }),
  installation("old-token-0123456789abcdefg", { last_seen_on: new Date(Date.now() - 300 * day) }),
];

service.prepare(async () => {
  await records.insertMany(stored);
  await service.addUser(ann.user, ann.password);
});

const list = (
  query = "",
  as: { user: string; password: string } | "nobody" = bootstrap,
): Promise<HttpResponse> =>
  call(`${service.url}/api/topicsync/v1/installations${query}`, {
    method: "GET",
    as: as === "nobody" ? undefined : as,
  });
const getUsers = (response: HttpResponse): string[] => {
  const { installations } = response.json as { installations: { user: string }[] };
  return installations.map(({ user }) => user);
};

describe("listing installations over HTTP", () => {
  it("needs the role push_admin", async () => {
    assert.equal((await list("", ann)).status, 403);
    assert.equal((await list("", "nobody")).status, 401);
    assert.equal((await list()).status, 200);
  });

  it("returns each installation once, page by page", async () => {
    const found: string[] = [];
    let pages = 0;
    let next: string | null = "";
    while (next !== null) {
      const { status, json }: HttpResponse = await list(`?limit=10${next === "" ? "" : `&after=${next}`}`);
      assert.equal(status, 200);
      assert.ok(json.installations.length <= 10);
      found.push(...json.installations.map(({ id }: { id: string }) => id));
      ({ next } = json);
      pages += 1;
    }
    assert.ok(pages >= 3, `${pages} pages`);
    assert.deepEqual(found, stored.map(({ _id }) => _id).toSorted());
  });

  it("shortens tokens by default", async () => {
    const [short] = (await list("?user=bob&platform=android")).json.installations;
    assert.equal(short.token, "bobs-t…cdef");
    const [full] = (await list("?user=bob&platform=android&fullTokens=true")).json.installations;
    const read = service.log.findLast(({ msg }) => msg === "installations.read-tokens");
    assert.deepEqual([read?.["audit"], read?.["by"], read?.["count"]], [true, bootstrap.user, 1]);
    assert.equal(full.token, "bobs-token-0123456789abcdef");
  });

  it("filters by each parameter", async () => {
    assert.deepEqual(getUsers(await list("?user=bob")), ["bob", "bob"]);
    const [gone] = (await list("?active=false")).json.installations;
    assert.equal(gone.deactivatedReason, "Unregistered");
    const before = new Date(Date.now() - 270 * day).toISOString();
    assert.equal((await list(`?unseenSince=${before}`)).json.installations.length, 1);
    const { installations, next } = (await list("?application=none")).json;
    assert.deepEqual([installations, next], [[], null]);
  });

  it("finds tokens by a suffix of at most 12 characters", async () => {
    const { json } = await list("?tokenSuffix=9abcdef");
    assert.deepEqual(
      json.installations.map(({ user }: { user: string }) => user),
      ["bob", "bob"],
    );
    assert.ok(json.scanned >= 2);
    assert.deepEqual(getUsers(await list("?tokenSuffix=defg")), ["ann"]);
    assert.deepEqual(getUsers(await list("?tokenSuffix=9abcdef&user=ann")), []);
    assert.equal((await list("?tokenSuffix=9abcdef&user=bob&platform=ios")).json.scanned, 1);
    // Regular expression characters are literal.
    assert.deepEqual(getUsers(await list("?tokenSuffix=...g")), []);
  });

  it("rejects an invalid query by the name of its parameter", async () => {
    for (const [query, path] of [
      ["?limit=0", "/limit"],
      ["?limit=1001", "/limit"],
      ["?limit=ten", "/limit"],
      ["?active=yes", "/active"],
      ["?after=nonsense", "/after"],
      ["?unseenSince=yesterday", "/unseenSince"],
      ["?user=a&user=b", "/user"],
      ["?aplication=x", "/aplication"],
      ["?token=bobs-token-0123456789abcdef", "/token"],
      ["?user[$ne]=x", "/user[$ne]"],
      ["?tokenSuffix=def", "/tokenSuffix"],
      ["?tokenSuffix=bobs-token-0123456789abcdef", "/tokenSuffix"],
    ] as const) {
      const response = await list(query);
      assertError(response, 400, "SCHEMA_VIOLATION");
      assert.equal(response.json.error.details[0].path, path);
    }
  });
});

describe("listing one's own installations", () => {
  const listOwn = (query = "", as: typeof ann | undefined = ann): Promise<HttpResponse> =>
    call(`${service.url}/api/now/v1/push/my/installations${query}`, { method: "GET", as });

  it("returns the caller's, shortened, and nobody else's, nor who had a token before", async () => {
    const eve = { user: "eve", password: "password of eve" };
    await service.addUser(eve.user, eve.password);
    const token = "eves-token-0123456789-abcdef";
    const attributes = { appVersion: "2" };
    const previous_owners = [{ user: "bob", until: new Date() }];
    await records.insertMany([
      installation(token, { user: "eve", attributes, previous_owners }),
      installation("eves-other-token-0123456789", { user: "eve", application: "other", active: false }),
    ]);
    const { status, json } = await listOwn("?active=true", eve);
    assert.equal(status, 200);
    const [{ id, createdOn, updatedOn, lastSeenOn, ...one }, ...others] = json.installations;
    assert.ok(id && createdOn && updatedOn && lastSeenOn);
    assert.deepEqual([others, json.next], [[], null]);
    assert.deepEqual(one, {
      ...{ application: "agent", platform: "ios", token: "eves-t…cdef", user: "eve", active: true },
      attributes,
    });
    assert.equal((await listOwn("", eve)).json.installations.length, 2);
    assert.equal((await listOwn("?application=other", eve)).json.installations.length, 1);
    assert.equal((await listOwn("?platform=android", eve)).json.installations.length, 0);
    // Everybody else's are not to be asked for.
    for (const query of ["?user=ann", "?fullTokens=true", "?user[$ne]=eve", "?limit=0"])
      assertError(await listOwn(query, eve), 400, "SCHEMA_VIOLATION");
    assert.equal(
      (await call(`${service.url}/api/now/push/my/installations`, { method: "GET", as: undefined })).status,
      401,
    );
  });

  it("returns many page by page, each once", async () => {
    const found: string[] = [];
    let next: string | null = "";
    while (next !== null) {
      const { json }: HttpResponse = await listOwn(`?limit=10${next === "" ? "" : `&after=${next}`}`);
      found.push(...json.installations.map((one: { id: string }) => one.id));
      ({ next } = json);
    }
    assert.deepEqual(found, stored.flatMap(({ _id, user }) => (user === ann.user ? [_id] : [])).toSorted());
  });
});

describe("deactivating installations by id", () => {
  const deactivate = (
    body: unknown,
    as: { user: string; password: string } = bootstrap,
  ): Promise<HttpResponse> => call(`${service.url}/api/topicsync/v1/installations/deactivate`, { body, as });
  const chosen = [installation("lost-token-one-0123456789"), installation("lost-token-two-0123456789")];
  const ids = chosen.map(({ _id }) => _id);
  const findRecord = (id = "") => records.findOne({ _id: id });

  it("needs the role push_admin, ids and a reason", async () => {
    await records.insertMany(chosen);
    assert.equal((await deactivate({ ids, reason: "lost" }, ann)).status, 403);
    for (const body of [
      { ids, reason: "" },
      { ids, reason: "x".repeat(201) },
      { ids: [], reason: "lost" },
      { ids: [{ $ne: "" }], reason: "lost" },
      { ids: Array.from({ length: 201 }, (_, i) => `id-${i}`), reason: "lost" },
      { reason: "lost" },
    ])
      assert.equal((await deactivate(body)).status, 400, JSON.stringify(body).slice(0, 100));
    assert.equal((await findRecord(ids[0]))?.active, true);
  });

  it("stores the reason, returns the count, and leaves inactive installations alone", async () => {
    const gone = stored.find(({ active }) => !active)?._id;
    const response = await deactivate({ ids: [...ids, gone, "unknown"], reason: "lost telephone" });
    assert.deepEqual([response.status, response.json], [200, { deactivated: 2 }]);
    for (const id of ids) {
      const record = await findRecord(id);
      assert.deepEqual([record?.active, record?.deactivated_reason], [false, "lost telephone"]);
      assert.ok(record?.deactivated_on instanceof Date);
    }
    assert.equal((await findRecord(gone))?.deactivated_reason, "Unregistered");
    assert.deepEqual((await deactivate({ ids, reason: "again" })).json, { deactivated: 0 });
  });

  it("records an audit event with the digest of each token", async () => {
    const digest = (text = "") => createHash("sha256").update(text).digest("hex").slice(0, 16);
    const lines = await until("both are recorded", () => {
      const found = service.log.filter(({ msg }) => msg === "installation.deactivated");
      return found.length > 1 && found;
    });
    assert.deepEqual(
      lines.map((line) => [line["tokenDigest"], line["reason"], line["by"], line["application"]]).toSorted(),
      chosen.map(({ token }) => [digest(token), "lost telephone", bootstrap.user, "agent"]).toSorted(),
    );
  });

  it("spares those that were registered since a time", async () => {
    const [fresh, forgotten] = [
      installation("fresh-token-0123456789"),
      installation("forgotten-token-0123456789", { last_seen_on: new Date(Date.now() - 300 * day) }),
    ];
    await records.insertMany([fresh, forgotten]);
    const body = {
      ids: [fresh._id, forgotten._id],
      reason: "not seen",
      unseenSince: new Date(Date.now() - day),
    };
    assert.deepEqual((await deactivate(body)).json, { deactivated: 1 });
    assert.equal((await findRecord(fresh._id))?.active, true);
    assert.equal((await deactivate({ ...body, unseenSince: "yesterday" })).status, 400);
  });

  it("is undone by registering the token again", async () => {
    const [{ token } = installation("none")] = chosen;
    const url = `${service.url}/api/now/push/agent/installation`;
    assert.equal((await call(url, { body: { platform: "ios", token } })).status, 200);
    const record = await findRecord(ids[0]);
    assert.deepEqual([record?.active, record?.user], [true, bootstrap.user]);
    assert.equal("deactivated_reason" in (record ?? {}), false);
  });
});

describe("importing installations over HTTP", () => {
  const importAll = (body: unknown): Promise<HttpResponse> =>
    call(`${service.url}/api/topicsync/v1/installations/import`, { body });
  const on = new Date().toISOString();
  const view = {
    ...{ application: "agent", platform: "ios", token: "imported-token-0123456789", user: "carla" },
    ...{ active: true, createdOn: on, updatedOn: on, lastSeenOn: on, attributes: { locale: "de" } },
  };

  it("stores the valid ones, names the others by index, and is audited", async () => {
    const installations = [view, 7, { ...view, token: "other", platform: "symbian" }, view];
    const dry = await importAll({ installations, dryRun: true });
    const stored = await importAll({ installations });
    for (const { status, json } of [dry, stored]) {
      assert.deepEqual([status, json.added, json.updated, json.kept], [200, 1, 0, 1]);
      assert.deepEqual(
        json.rejected.map(({ index }: { index: number }) => index),
        [1, 2],
      );
      assert.match(json.rejected[1].reason, /\/platform is not a push platform: "symbian"/);
    }
    assert.deepEqual(
      (await records.find({ user: "carla" }).toArray()).map(({ attributes }) => attributes),
      [view.attributes],
    );
    const audited = service.log.filter(({ msg }) => msg === "installations.imported");
    assert.deepEqual(
      audited.map((line) => [line["by"], line["count"]]),
      [[bootstrap.user, 1]],
    );
  });

  it("takes 1 to 200", async () => {
    for (const count of [0, 201])
      assertError(
        await importAll({ installations: Array.from({ length: count }, () => view) }),
        400,
        "SCHEMA_VIOLATION",
      );
  });
});
