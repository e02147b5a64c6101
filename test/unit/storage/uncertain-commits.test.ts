import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";

import type { Document } from "mongodb";

import { UnavailableError } from "@topicsync/lib/errors";
import type { PositionKey } from "@topicsync/kafka";
import { createInstallationReader } from "../../../src/storage/installations/reader.ts";
import { collections } from "../../../src/storage/names.ts";
import { createTopicStore } from "../../../src/storage/topics/topics.ts";
import { changeTopic } from "../../../src/topics/changing.ts";
import { createTopicService } from "../../../src/topics/service.ts";
import { allowAll } from "../../support/allow-all.ts";
import { applyAnnouncements } from "../../support/apply-batch.ts";
import { connectProxiedDatabase } from "../../support/database.ts";
import { mongoErrors } from "../../support/mongo-faults.ts";
import { unique } from "../../support/names.ts";
import { definition } from "../../support/scene.ts";

const commands: Document[] = [];
const { db, database, proxy, log } = await connectProxiedDatabase({
  onCommand: (command) => void commands.push(command),
});
afterEach(() => {
  assert.equal(proxy.pending(), 0, "every error was returned");
});

const store = createTopicStore(database, log, { historyRetentionDays: undefined });
const service = createTopicService(store);
const createKey = () => ({ group: unique("group"), topic: unique("announcements"), partition: 0 });
const countSent = (name: string): number => commands.filter((command) => name in command).length;

/**
 * A commit that was stored, although MongoDB says that there is no such transaction: an earlier primary had
 * it.
 */
const storedByAnother = {
  command: "commitTransaction",
  executed: true,
  answer: mongoErrors.noSuchTransaction,
  times: 1,
};

describe("a commit whose transaction another primary may have stored", () => {
  it("is an outage for a batch, which is not repeated", async () => {
    const key = createKey();
    await store.claim(key);
    const id = unique("topic");
    proxy.fail(storedByAnother);
    commands.length = 0;
    await assert.rejects(
      applyAnnouncements({
        store,
        key,
        from: undefined,
        to: { offset: 1, epoch: 1 },
        announcements: [{ kind: "define", offset: 0, definition: definition(id) }],
      }),
      { name: "UnavailableError", message: /MongoDB does not respond/ },
    );
    assert.equal(countSent("insert"), 1);
    assert.equal((await store.claim(key))?.isOurs, true, "the reader finds out that it was stored");
  });

  it("disables a topic, and its user is told so", async () => {
    const externalId = unique("topic");
    await service.create({ externalId, name: externalId }, "ann");
    proxy.fail(storedByAnother);
    assert.equal(
      (await changeTopic(service, { kind: "disable", externalId }, { user: "ann", check: allowAll })).changed,
      true,
    );
    assert.equal(
      (await changeTopic(service, { kind: "disable", externalId }, { user: "ann", check: allowAll })).changed,
      false,
    );
  });
});

describe("claiming a partition again", () => {
  const apply = (key: PositionKey, from: number) =>
    applyAnnouncements({
      store,
      key,
      from: from === 0 ? undefined : { offset: from, epoch: 1 },
      to: { offset: from + 1, epoch: 1 },
      announcements: [{ kind: "define", offset: from, definition: definition(unique("topic")) }],
    });

  it("kills the own session only if its last transaction may be open", async () => {
    const key = createKey();
    await store.claim(key);
    await apply(key, 0);
    commands.length = 0;
    await store.claim(key);
    assert.equal(countSent("killSessions"), 0);
    const answer = mongoErrors.hostUnreachable;
    proxy.fail({ command: "commitTransaction", executed: false, answer, times: 2 });
    await assert.rejects(apply(key, 1), UnavailableError);
    await store.claim(key);
    assert.equal(countSent("killSessions"), 1);
  });
});

describe("a commit that never arrives", () => {
  it("does not leave its transaction open", async () => {
    const externalId = unique("topic");
    await service.create({ externalId, name: externalId }, "ann");
    const answer = mongoErrors.hostUnreachable;
    // The driver repeats it once.
    proxy.fail({ command: "commitTransaction", executed: false, answer, times: 2 });
    commands.length = 0;
    await assert.rejects(
      changeTopic(service, { kind: "disable", externalId }, { user: "ann", check: allowAll }),
      UnavailableError,
    );
    assert.equal(countSent("killSessions"), 1);
    // It would wait for the transaction until it times out.
    await db.collection(collections.topics).updateOne({ topic_id: externalId }, { $set: { namespace: "x" } });
  });
});

describe("dead letters", () => {
  it("do not leave while it is uncertain that what they were decided on is kept", async () => {
    const key = createKey();
    await store.claim(key);
    const id = unique("topic");
    await service.create({ externalId: id, name: unique("name") }, "ann");
    const letters: unknown[] = [];
    const step = {
      store,
      key,
      from: undefined,
      to: { offset: 1, epoch: 1 },
      primary: database.getPrimary(),
      announcements: [{ kind: "define" as const, offset: 0, definition: definition(id) }],
      onLetter: (letter: unknown) => void letters.push(letter),
    };
    const answer = mongoErrors.writeConcernTimeout;
    proxy.fail({ command: "update", executed: true, answer, times: 1 });
    await assert.rejects(applyAnnouncements(step), UnavailableError);
    assert.deepEqual(letters, []);
    await applyAnnouncements(step);
    assert.deepEqual(letters, [{ offset: 0, code: "EXTERNAL_ID_TAKEN" }]);
  });
});

describe("counting the installations", () => {
  it("ends with a reason where there are too many, and is not repeated", async () => {
    proxy.fail({ command: "aggregate", executed: false, answer: mongoErrors.tooSlow, times: 1 });
    commands.length = 0;
    await assert.rejects(createInstallationReader(database).countByScope({}), {
      name: "UnavailableError",
      message: /too many installations/,
    });
    assert.equal(countSent("aggregate"), 1);
  });
});
