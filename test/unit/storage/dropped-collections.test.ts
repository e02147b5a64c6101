import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { pino } from "pino";

import { replacePlatform, systemPlatform } from "@topicsync/lib/platform";
import { newId } from "@topicsync/lib/sys-id";
import { createCatalogStore } from "../../../src/storage/catalog.ts";
import { createDatabase } from "../../../src/storage/database/database.ts";
import { indexes } from "../../../src/storage/indexes.ts";
import { createInstallationImportStore } from "../../../src/storage/installations/import.ts";
import { fromInstallationRecord } from "../../../src/storage/installations/records.ts";
import { createInstallationStore } from "../../../src/storage/installations/installations.ts";
import { createKeyStore } from "../../../src/storage/keys.ts";
import { createLogStore } from "../../../src/storage/logs.ts";
import { collections, type CollectionName } from "../../../src/storage/names.ts";
import { createReplayStore } from "../../../src/storage/replays.ts";
import { createTopicDetailsStore } from "../../../src/storage/topics/details.ts";
import { createTopicStore } from "../../../src/storage/topics/topics.ts";
import { createUserStore } from "../../../src/storage/users.ts";
import { createTopicService } from "../../../src/topics/service.ts";
import { allowAll } from "../../support/allow-all.ts";
import { applyAnnouncements } from "../../support/apply-batch.ts";
import { connectDatabase, connectProxiedDatabase } from "../../support/database.ts";
import { installation } from "../../support/installations.ts";
import { mongoErrors } from "../../support/mongo-faults.ts";
import { unique } from "../../support/names.ts";
import { definition } from "../../support/scene.ts";
import { testDatabase } from "../../support/stack.ts";

const { db, database, log } = await connectDatabase();
const store = createTopicStore(database, log, { historyRetentionDays: undefined });
const service = createTopicService(store);
const key = { group: unique("group"), topic: unique("announcements"), partition: 0 };
const on = new Date();

/** What writes unique values of a collection. */
const writes: readonly (readonly [string, CollectionName, () => Promise<unknown>])[] = [
  ["a topic", collections.topics, () => service.create({ externalId: unique("topic"), name: "a" }, "ann")],
  [
    "changes of topics",
    collections.topics,
    () =>
      service.change([{ kind: "create", definition: definition(unique("topic")) }], {
        user: "ann",
        check: allowAll,
      }),
  ],
  [
    "an announcement",
    collections.topics,
    async () => {
      await store.claim(key);
      const announcement = { kind: "define", offset: 0, definition: definition(unique("topic")) } as const;
      const to = { offset: 1, epoch: 1 };
      await applyAnnouncements({ store, key, from: undefined, to, announcements: [announcement] });
    },
  ],
  [
    "a registration",
    collections.installations,
    () => {
      const installed = { token: unique("token"), application: "agent", platform: "ios" };
      return createInstallationStore(database).write([{ kind: "register", key: installed, user: "ann" }]);
    },
  ],
  [
    "an import of installations",
    collections.installations,
    () =>
      createInstallationImportStore(database).add([fromInstallationRecord(installation(unique("token")))]),
  ],
  [
    "a user",
    collections.users,
    () => createUserStore(database).insert({ name: "ann", passwordHash: "", roles: [], active: true }),
  ],
  [
    "an API key",
    collections.keys,
    () =>
      createKeyStore(database).insert(
        {
          id: newId(),
          name: "key",
          digest: "x",
          roles: [],
          createdOn: on,
          createdBy: "ann",
          expiresOn: on,
          lastUsedOn: undefined,
          maker: undefined,
        },
        { at: on, since: on },
      ),
  ],
  [
    "a platform",
    collections.platforms,
    () => createCatalogStore(database).platforms.insert({ name: "ios", active: true }),
  ],
  [
    "a new log",
    collections.logs,
    () => {
      const found = { topicId: "id", clusterId: "cluster", partitions: 1 };
      return createLogStore(database).beginEpoch({ topic: "announcements", partition: 0 }, found, 1);
    },
  ],
  [
    "a replay",
    collections.replays,
    () => {
      const replay = { deadLetterId: "x", attempt: 1, startedAt: on, sentTo: { topic: "announcements" } };
      return createReplayStore(database).begin([{ ...replay, state: "sending" }]);
    },
  ],
];

let lead = 0;
replacePlatform({ ...systemPlatform, elapsed: () => systemPlatform.elapsed() + lead });

/** Lets the second pass in which indexes are not looked at again. */
const passSecond = (): void => {
  lead += 1_000;
};

describe("a collection that was dropped under a running service", () => {
  for (const [what, collection, write] of writes)
    it(`has its unique indexes again before ${what} is stored`, async () => {
      await db.collection(collection).drop();
      passSecond();
      await write();
      assert.equal(await db.collection(collection).countDocuments(), 1);
      const names = (await db.collection(collection).indexes()).map(({ name }) => name);
      for (const { name } of indexes.filter((one) => one.collection === collection))
        assert.ok(names.includes(name), name);
    });

  it("is searched with its indexes", async () => {
    const details = createTopicDetailsStore(database, { historyRetentionDays: undefined });
    const search = () => {
      const read = details.search({ owner: "ann", tag: "a", namespaces: "all" });
      return read({ after: undefined, batchSize: 10 }).next();
    };
    await search();
    await db.collection(collections.topicDetails).drop();
    passSecond();
    assert.deepEqual(await search(), { done: true, value: undefined });
  });

  it("is looked at once more after a failover, so that it fails no write", async () => {
    const { database: proxied, proxy } = await connectProxiedDatabase();
    const answer = mongoErrors.hostUnreachable;
    proxy.fail({ command: "createIndexes", executed: false, answer, times: 1 });
    const topics = createTopicService(createTopicStore(proxied, log, { historyRetentionDays: undefined }));
    await topics.create({ externalId: unique("topic"), name: unique("name") }, "ann");
    assert.equal(proxy.pending(), 0);
  });

  it("is reported, and the whole database is prepared like at the start", async () => {
    const { uri, db: own } = testDatabase();
    const lines: { msg: string; collection?: string }[] = [];
    const written = pino({ level: "error" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const running = createDatabase(uri, written);
    await running.connect(new AbortController().signal);
    const topics = createTopicStore(running, written, { historyRetentionDays: undefined });
    const body = { externalId: "a", name: "a" };
    await createTopicService(topics).create(body, "ann");
    const id = running.getId();
    await own.dropDatabase();
    passSecond();
    await createTopicService(topics).create(body, "ann");
    assert.notEqual(running.getId(), id);
    const letters = await own.collection(collections.deadLetters).indexes();
    assert.ok(letters.some(({ name }) => name === "dead_letters_by_rank"));
    await assert.rejects(createTopicService(topics).create(body, "ann"), { code: "DUPLICATE_EXTERNAL_ID" });
    assert.deepEqual(
      lines.map(({ msg, collection }) => `${msg}: ${collection}`),
      [`indexes were missing and were created again: ${collections.topics}`],
    );
    await running.close();
  });
});
