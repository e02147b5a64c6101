import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { RejectionError } from "@topicsync/lib/errors";
import { abbreviateToken } from "../../../src/installations/installation.ts";
import { createInstallationListing, type InstallationQuery } from "../../../src/installations/listing.ts";
import { createInstallationReader } from "../../../src/storage/installations/reader.ts";
import { connectDatabase } from "../../support/database.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";

const { db, database } = await connectDatabase();
const records = db.collection<InstallationRecord>("sys_push_notif_app_install");
const listing = createInstallationListing(createInstallationReader(database), {
  applications: listed({ name: "agent", active: true }, { name: "other", active: false }),
  platforms: listed({ name: "ios", active: true }, { name: "apns", active: true, tokenRule: "apns" }),
});

function listed<T>(...records: T[]) {
  return { list: () => Promise.resolve(records) };
}

const toId = (i: number): string => String(i).padStart(32, "0");
const long = new Date("2026-01-01T00:00:00Z");
const apnsToken = "ab12".repeat(16);
const count = 1_500;

before(async () => {
  const all = Array.from({ length: count }, (_, i) =>
    installation(`token-${i}`, {
      _id: toId(i),
      application: i % 3 === 0 ? "other" : "agent",
      user: i === 1_400 ? "bob" : "ann",
      active: i % 2 === 0,
      ...(i % 500 === 0 ? { last_seen_on: long } : {}),
    }),
  );
  all.push(
    installation(apnsToken, { _id: toId(9_001), platform: "apns" }),
    installation(apnsToken, { _id: toId(9_002), platform: "ios" }),
    installation(apnsToken.toUpperCase(), { _id: toId(9_003), platform: "ios" }),
  );
  await records.insertMany(all);
});

async function listIds(query: InstallationQuery, limit = 1_000): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const { installations, next } = await listing.findPage(query, { after: cursor, limit });
    assert.ok(installations.length <= limit);
    ids.push(...installations.map(({ id }) => id));
    cursor = next;
  } while (cursor !== undefined);
  return ids;
}

const expected = (isExpected: (i: number) => boolean): string[] =>
  Array.from({ length: count }, (_, i) => i)
    .filter(isExpected)
    .map(toId);

describe("listing installations", () => {
  it("returns each installation once, sorted by id, for every page size", async () => {
    const all = [...expected(() => true), toId(9_001), toId(9_002), toId(9_003)];
    for (const limit of [400, 1_000]) assert.deepEqual(await listIds({}, limit), all);
  });

  it("filters by application, platform, user, state and time, alone and combined", async () => {
    assert.deepEqual(
      await listIds({ application: "other" }, 300),
      expected((i) => i % 3 === 0),
    );
    assert.deepEqual(await listIds({ user: "bob" }), [toId(1_400)]);
    assert.deepEqual(
      await listIds({ active: false, application: "other" }),
      expected((i) => i % 6 === 3),
    );
    assert.deepEqual(
      await listIds({ unseenSince: new Date("2026-06-01T00:00:00Z") }, 2),
      expected((i) => i % 500 === 0),
    );
    assert.deepEqual(await listIds({ application: "agent", platform: "ios", user: "bob" }), [toId(1_400)]);
    assert.deepEqual(await listIds({ platform: "android" }), []);
    assert.deepEqual(
      await listIds({ user: "ann", active: true, application: "other" }, 50),
      expected((i) => i % 6 === 0),
    );
  });

  it("finds tokens by suffix and counts the records examined", async () => {
    assert.deepEqual(await listIds({ tokenSuffix: "n-1234" }), [toId(1_234)]);
    assert.deepEqual(
      await listIds({ tokenSuffix: "99", active: false }),
      expected((i) => i % 100 === 99),
    );
    assert.deepEqual(await listIds({ tokenSuffix: "n.1234" }), []);
    const { installations, next, scanned } = await listing.findPage({ tokenSuffix: "n-7" }, { limit: 1 });
    assert.deepEqual([installations.length, scanned], [1, 1]);
    const rest = await listing.findPage({ tokenSuffix: "n-7" }, { after: next, limit: 1 });
    assert.deepEqual([rest.installations, rest.next, rest.scanned >= 1_000], [[], undefined, true]);
  });

  it("returns every member of a record", async () => {
    const { installations } = await listing.findPage({ tokenSuffix: "token-500" }, { limit: 1 });
    const record = await records.findOne({ token: "token-500" });
    assert.deepEqual(installations, [
      {
        id: toId(500),
        application: "agent",
        platform: "ios",
        token: "token-500",
        user: "ann",
        active: true,
        createdOn: record?.sys_created_on,
        updatedOn: record?.sys_updated_on,
        lastSeenOn: long,
        deactivatedOn: undefined,
        deactivatedReason: undefined,
        previousOwners: [],
        attributes: undefined,
      },
    ]);
  });

  it("rejects foreign cursors and invalid page sizes", async () => {
    const foreign = (text: string) => Buffer.from(text).toString("base64url");
    for (const cursor of ["", "x", foreign("i1:"), foreign("i2:id"), `${foreign("i1:id")}=`, "i1:id"]) {
      await assert.rejects(listing.findPage({}, { after: cursor, limit: 1 }), RejectionError, cursor);
    }
    for (const limit of [0, 1_001, 1.5, Number.NaN])
      await assert.rejects(listing.findPage({}, { limit }), RejectionError, String(limit));
  });
});

describe("an abbreviated token", () => {
  it("can be recognized but not used", () => {
    assert.equal(abbreviateToken("0123456789abcdef0123456789abcdef"), "012345…cdef");
    assert.equal(abbreviateToken("secret"), "s…");
  });
});
