/**
 * docs/backup-and-restore.md: what the service recovers after a restore, what it does not, and how to recover
 * that.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import type { Db, Document } from "mongodb";

import { call } from "../../support/http.ts";
import { keepSecret } from "../../support/secrets.ts";
import { stage } from "../../support/scene.ts";
import { runCli, type TestService } from "../../support/service.ts";

const { scene } = stage();
const {
  settings,
  start,
  db,
  topics,
  positions,
  key,
  createTopic,
  announce,
  retire,
  announced,
  reached,
  deadLetters,
} = scene({ PUSH_APPLICATIONS: "App", PUSH_PLATFORMS: "ios" });
const folder = mkdtempSync(join(tmpdir(), "topicsync-restore-"));
after(() => {
  rmSync(folder, { recursive: true, force: true });
});

type Copy = ReadonlyMap<string, readonly Document[]>;

/** Copies some of the collections, like mongodump. */
async function dump(from: Db, isWanted: (name: string) => boolean): Promise<Copy> {
  const wanted = (await from.collections()).filter(({ collectionName }) => isWanted(collectionName));
  const copies = wanted.map(async (one) => [one.collectionName, await one.find().toArray()] as const);
  return new Map(await Promise.all(copies));
}

/** Replaces collections by copies, like mongorestore --drop. */
async function restore(to: Db, copies: readonly Copy[]): Promise<void> {
  for (const [name, records] of copies.flatMap((copy) => [...copy])) {
    await to.collection(name).deleteMany({});
    if (records.length > 0) await to.collection(name).insertMany([...records]);
  }
}

async function run(args: readonly string[], input = ""): Promise<string> {
  const { code, output, errors } = await runCli(args, settings, input);
  assert.equal(code, 0, `${output}${errors}`);
  return output;
}

const create = async (at: TestService, externalId: string): Promise<void> => {
  const { status, text } = await call(`${at.url}/api/svc_api_notif_mgmt/topic`, {
    body: { externalId, name: externalId, contentQuery: `by.hand=${externalId}` },
  });
  assert.equal(status, 201, text);
};

const register = async (at: TestService, token: string): Promise<void> => {
  const { status, text } = await call(`${at.url}/api/now/push/App/installation`, {
    body: { platform: "ios", token },
  });
  assert.equal(status, 200, text);
};

const canSignIn = async (at: TestService, user: string, password: string): Promise<boolean> => {
  const { status } = await call(`${at.url}/api/topicsync/v1/sync`, {
    method: "GET",
    as: { user, password },
  });
  return status === 200;
};

/** The announced topics: names by external id. */
const findAnnounced = async (): Promise<Map<string, string>> => {
  const records = await topics.find({ "source.kind": "announcement" }).toArray();
  return new Map(records.map(({ topic_id, topic_name }) => [topic_id, topic_name]));
};

const findCreatedOverHttp = async (): Promise<string[]> =>
  (await topics.distinct("topic_id", { "source.kind": "http" })).toSorted();

const findTokens = async (): Promise<string[]> =>
  (
    await db
      .collection<{ token: string; active: boolean }>("sys_push_notif_app_install")
      .distinct("token", { active: true })
  ).toSorted();

const old = "the password of the backup";
const later = "the password after the backup";
const signedIn = { Cookie: "" };
let service: TestService;

describe("a database that was restored from a backup", () => {
  before(async () => {
    await createTopic();
    await announce(0, 20);
    const first = await start();
    await create(first, "made-before");
    await register(first, "token-before");
    await run(["users", "add", "ann"], old);
    await reached(20);

    // The backup is taken while the sync runs: the positions first, the other collections later.
    const savedPositions = await dump(db, (name) => name === "topicsync_positions");
    await announce(20, 30);
    await retire(0, 2);
    await reached(32);
    const rest = await dump(db, (name) => name !== "topicsync_positions");

    await announce(5, 8, "Changed");
    await retire(2, 4);
    await announce(30, 40);
    await reached(47);
    await create(first, "made-after");
    await register(first, "token-after");
    await run(["users", "passwd", "ann"], later);
    await run(["users", "add", "ben"], later);
    const session = await call(`${first.url}/api/topicsync/v1/session`, {
      as: undefined,
      body: { user: "ben", password: later },
    });
    signedIn.Cookie = (session.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
    keepSecret(signedIn.Cookie.split("=")[1], session.json.csrfToken);
    await run(["topics", "export", "--source", "http", "--out", join(folder, "topics.ndjson")]);
    const tokens = await run(["installations", "list", "--json", "--full-tokens"]);
    writeFileSync(join(folder, "tokens.ndjson"), tokens);
    await first.stop();

    await restore(db, [savedPositions, rest]);
    service = await start();
  });

  it("has the announced topics of the log again, and rejects nothing", async () => {
    await reached(47);
    assert.deepEqual(await findAnnounced(), new Map(announced));
    assert.equal(announced.get("id-6"), "Changed id-6");
    assert.equal(announced.has("id-3"), false);
    assert.equal(await deadLetters(), 0);
  });

  it("lacks the topics created over HTTP since, until an export is imported", async () => {
    assert.deepEqual(await findCreatedOverHttp(), ["made-before"]);
    await run(["topics", "import", join(folder, "topics.ndjson")]);
    assert.deepEqual(await findCreatedOverHttp(), ["made-after", "made-before"]);
  });

  it("lacks the tokens registered since, until an export is imported or they are registered again", async () => {
    assert.deepEqual(await findTokens(), ["token-before"]);
    await run(["installations", "import", join(folder, "tokens.ndjson")]);
    assert.deepEqual(await findTokens(), ["token-after", "token-before"]);
    await register(service, "token-after");
    assert.deepEqual(await findTokens(), ["token-after", "token-before"]);
  });

  it("has the users and passwords of the backup", async () => {
    assert.equal(await canSignIn(service, "ann", old), true);
    assert.equal(await canSignIn(service, "ann", later), false);
    assert.equal(await canSignIn(service, "ben", later), false);
  });

  it("lacks the console sessions started since", async () => {
    const { status } = await call(`${service.url}/api/topicsync/v1/session`, {
      method: "GET",
      as: undefined,
      headers: signedIn,
    });
    assert.equal(status, 401);
  });

  it("has topics that are older than its positions, once these are reset by hand", async () => {
    await service.stop();
    await topics.deleteMany({ topic_id: { $in: ["id-25", "id-35"] } });
    await positions.updateMany({ _id: key }, { $set: { next_offset: 20 } });
    const again = await start();
    await reached(47);
    assert.deepEqual(await findAnnounced(), new Map(announced));
    await again.stop();
  });
});
