import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";

import type { Document } from "mongodb";

import { newId } from "@topicsync/lib/sys-id";
import type { Installation } from "../../../src/installations/installation.ts";
import { createInstallationImportStore } from "../../../src/storage/installations/import.ts";
import { createInstallationStore } from "../../../src/storage/installations/installations.ts";
import { createTopicStore } from "../../../src/storage/topics/topics.ts";
import { createTopicService } from "../../../src/topics/service.ts";
import { applyAnnouncements } from "../../support/apply-batch.ts";
import { connectProxiedDatabase } from "../../support/database.ts";
import { unique } from "../../support/names.ts";
import { definition } from "../../support/scene.ts";

const inserted: Document[] = [];
const { db, database, proxy, log } = await connectProxiedDatabase({
  onCommand: (command) => {
    if ("insert" in command) inserted.push(command);
  },
});
afterEach(() => {
  assert.equal(proxy.pending(), 0, "every error was returned");
});

const service = createTopicService(createTopicStore(database, log, { historyRetentionDays: undefined }));
const installations = createInstallationStore(database);

/** The responses of stores when a unique index rejects the first write of a command. */
const answers: Readonly<Record<string, Document>> = {
  "of an index whose name says nothing": {
    ok: 1,
    n: 0,
    writeErrors: [
      { index: 0, code: 11000, errmsg: "E11000 duplicate key error collection: a.b index: i dup key: {}" },
    ],
  },
  "with the index's name in quotes": {
    ok: 1,
    n: 0,
    writeErrors: [
      { index: 0, code: 11000, errmsg: "Duplicate key violation on the requested collection: Index 'i'" },
    ],
  },
  "without a message": { ok: 1, n: 0, writeErrors: [{ index: 0, code: 11000, errmsg: "" }] },
  "of the command as a whole": {
    ok: 0,
    code: 11000,
    codeName: "DuplicateKey",
    errmsg: "Duplicate key violation on the requested collection.",
  },
  "as a write conflict": {
    ok: 0,
    code: 112,
    codeName: "WriteConflict",
    errmsg: "Duplicate key violation on the requested collection.",
  },
};

for (const [how, answer] of Object.entries(answers))
  describe(`a duplicate key that the store reports ${how}`, () => {
    const rejectOnce = (command: string): void => {
      proxy.fail({ command, executed: false, answer, times: 1 });
    };

    it("makes the sync decide the batch again, with the stored topics", async () => {
      const key = { group: unique("group"), topic: unique("announcements"), partition: 0 };
      const topics = createTopicStore(database, log, { historyRetentionDays: undefined });
      await topics.claim(key);
      const id = unique("topic");
      /** Uses a new service, which looks nothing up at first. */
      const announceAt = (offset: number) =>
        applyAnnouncements({
          store: topics,
          key,
          from: offset === 0 ? undefined : { offset, epoch: 1 },
          to: { offset: offset + 1, epoch: 1 },
          announcements: [{ kind: "define", offset, definition: definition(id) }],
        });
      assert.equal((await announceAt(0)).counts.created, 1);
      rejectOnce("insert");
      assert.equal((await announceAt(1)).counts.unchanged, 1);
    });

    it("is reported over HTTP with the rule that was violated", async () => {
      const body = { externalId: unique("topic"), name: unique("name") };
      await service.create(body, "ann");
      rejectOnce("insert");
      await assert.rejects(service.create(body, "ann"), { code: "DUPLICATE_EXTERNAL_ID" });
      rejectOnce("insert");
      await assert.rejects(service.create({ ...body, externalId: unique("topic") }, "ann"), {
        code: "DUPLICATE_COMBINATION",
      });
    });

    it("lets a token move to the user who registers it", async () => {
      const key = { token: unique("token"), application: "agent", platform: "ios" };
      const register = (user: string) => installations.write([{ kind: "register", key, user }]);
      assert.deepEqual(await register("ann"), []);
      rejectOnce("update");
      assert.deepEqual(await register("bob"), []);
      const [record, ...others] = await db
        .collection("sys_push_notif_app_install")
        .find({ token: key.token })
        .toArray();
      assert.deepEqual(others, []);
      assert.equal(record?.["user"], "bob");
      assert.equal(record["previous_owners"]?.[0]?.user, "ann");
    });
  });

const createInstallation = (): Installation => ({
  id: newId(),
  token: unique("token"),
  application: "agent",
  platform: "ios",
  user: "ann",
  active: true,
  createdOn: new Date(),
  updatedOn: new Date(),
  lastSeenOn: new Date(),
  deactivatedOn: undefined,
  deactivatedReason: undefined,
  previousOwners: [],
  attributes: undefined,
});

describe("an import of installations", () => {
  it("distinguishes a duplicate id from a duplicate token without the name of the index", async () => {
    const importStore = createInstallationImportStore(database);
    const [stored, other] = [createInstallation(), createInstallation()];
    assert.equal((await importStore.add([stored])).size, 0);
    const sameId = { ...createInstallation(), id: stored.id };
    const sameToken = { ...createInstallation(), token: stored.token };
    proxy.fail({ command: "insert", executed: true, answer: createNamelessError(1), times: 1 });
    assert.deepEqual(
      await importStore.add([other, sameToken, sameId]),
      new Map([
        [sameId, "id taken"],
        [sameToken, "key taken"],
      ]),
    );
    assert.equal(await db.collection("sys_push_notif_app_install").countDocuments({ token: other.token }), 1);
  });

  it("stores no id twice, even if the store would in another shard", async () => {
    const importStore = createInstallationImportStore(database);
    const stored = createInstallation();
    await importStore.add([stored]);
    const sameId = { ...createInstallation(), id: stored.id };
    inserted.length = 0;
    assert.deepEqual(await importStore.add([sameId]), new Map([[sameId, "id taken"]]));
    assert.deepEqual(inserted, []);
  });
});

/** The response to an insertion with one rejected record, without the name of the index. */
const createNamelessError = (index: number): Document => ({
  writeErrors: [{ index, code: 11000, errmsg: "" }],
});
