import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";

import type { Document } from "mongodb";

import { UnavailableError } from "@topicsync/lib/errors";
import { createDeadLetterHandler } from "../../../consumers/dead-letters/handler.ts";
import { addProof } from "../../../src/dead-letters/proof.ts";
import type { Replay } from "../../../src/dead-letters/stores.ts";
import { createDeadLetterReader, createDeadLetterStore } from "../../../src/storage/dead-letters.ts";
import { createInstallationStore } from "../../../src/storage/installations/installations.ts";
import { createInstallationImportStore } from "../../../src/storage/installations/import.ts";
import { fromInstallationRecord } from "../../../src/storage/installations/records.ts";
import { createFeedbackStore } from "../../../src/storage/installations/push-feedback.ts";
import { createReplayStore } from "../../../src/storage/replays.ts";
import { createTopicUsageStore } from "../../../src/storage/topics/usage.ts";
import { createTopicStore } from "../../../src/storage/topics/topics.ts";
import { connectProxiedDatabase } from "../../support/database.ts";
import { deadLetterMessage, proofKey } from "../../support/dead-letters.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { applyAnnouncements } from "../../support/apply-batch.ts";
import { dialects } from "../../support/mongo-dialects.ts";
import { mongoErrors } from "../../support/mongo-faults.ts";
import { unique } from "../../support/names.ts";
import { definition } from "../../support/scene.ts";

/** Without transactions, so that what a failed bulk has written stays. */
const updates: Document[] = [];
const { db, database, proxy, log } = await connectProxiedDatabase({
  dialect: dialects["FerretDB 2"],
  onCommand: (command) => {
    const { updates: statements } = command;
    if (Array.isArray(statements)) updates.push(...statements);
  },
});
afterEach(() => {
  assert.equal(proxy.pending(), 0, "every error was returned");
});

const duplicate = { code: 11000, errmsg: "E11000 duplicate key error" };
const tooSlow = { code: 50, errmsg: "operation exceeded time limit" };

/** Makes the next command fail for single writes, by their index. */
function failPart(command: string, errors: Readonly<Record<number, object>>, executed = true): void {
  const writeErrors = Object.entries(errors).map(([index, error]) => ({ index: Number(index), ...error }));
  proxy.fail({ command, executed, answer: { ok: 1, n: 0, nModified: 0, writeErrors }, times: 1 });
}

it("a bulk has the order of its keys in every instance, so that two of them do not block each other", async () => {
  const keys = ["b", "a", "\u{FF5E}", "\u{1F600}", "c"];
  const sorted = ["a", "b", "c", "\u{FF5E}", "\u{1F600}"];
  const findKeys = (field: string): unknown[] =>
    updates.splice(0).map(({ q }) => (q as Document)[field] as unknown);
  updates.length = 0;
  const counts = keys.map((externalId) => ({ externalId, matches: 1 }));
  await createTopicUsageStore(database).add(counts, new Date(0));
  assert.deepEqual(findKeys("_id"), sorted);
  const registrations = keys.map((token) => {
    const key = { token, application: "agent", platform: "ios" };
    return { kind: "register" as const, user: "ann", key };
  });
  assert.deepEqual(await createInstallationStore(database).write(registrations), []);
  assert.deepEqual(findKeys("token"), sorted);
  const store = createFeedbackStore(database, log);
  const key = { group: unique("group"), topic: "feedback", partition: 0 };
  await store.claim(key);
  const seen = await store.findTokens(keys);
  const batch = await store.begin({ key, from: undefined, to: { offset: 1, epoch: 1 } });
  updates.length = 0;
  await batch.write(
    keys
      .flatMap((token) => seen.filter((one) => one.token === token))
      .map((one) => ({ ...one, reason: "dead", unseenSince: new Date() })),
  );
  assert.deepEqual(findKeys("token"), sorted);
  await batch.end();
});

describe("a bulk that fails in part", () => {
  it("of usage is repeated for what failed only", async () => {
    const usage = createTopicUsageStore(database);
    const ids = ["a", "b", "c", "d"].map(unique);
    const counts = ids.map((externalId, at) => ({ externalId, matches: at + 1 }));
    failPart("update", { 1: duplicate, 2: tooSlow }, false);
    await usage.add(counts, new Date(0));
    const found = await usage.find(ids);
    assert.deepEqual(
      ids.map((id) => found.get(id)?.events),
      [undefined, 2, 3, undefined],
    );
    failPart("update", { 0: tooSlow });
    await assert.rejects(usage.add(counts, new Date(0)), UnavailableError);
  });

  it("of claims of replays names those that were taken, and is an outage if others failed", async () => {
    const replays = createReplayStore(database);
    const claim = (deadLetterId: string): Replay => ({
      ...{ deadLetterId, attempt: 1, startedAt: new Date(), state: "sending", sentTo: { topic: "t" } },
    });
    const [taken, free, late] = ["taken", "free", "late"].map((name) => claim(unique(name))) as [
      Replay,
      Replay,
      Replay,
    ];
    await replays.begin([taken]);
    assert.deepEqual(await replays.begin([free, taken]), new Set([taken.deadLetterId]));
    failPart("insert", { 0: duplicate, 1: tooSlow });
    await assert.rejects(replays.begin([taken, late]), UnavailableError);
    assert.equal((await replays.find([taken, free].map((one) => one.deadLetterId))).length, 2);
  });

  it("of imported installations names those whose key is taken, and is an outage if others failed", async () => {
    const store = createInstallationImportStore(database);
    const create = () => fromInstallationRecord(installation(unique("token")));
    const [stored, other, late] = [create(), create(), create()];
    await store.add([stored]);
    const sameKey = { ...create(), token: stored.token };
    assert.deepEqual(await store.add([other, sameKey]), new Map([[sameKey, "key taken"]]));
    failPart("insert", { 0: duplicate, 1: tooSlow });
    await assert.rejects(store.add([{ ...create(), token: stored.token }, late]), UnavailableError);
  });

  it("of dead letters counts each copy once when it is repeated", async () => {
    const topic = unique("dead-letter");
    const groupId = unique("group");
    const store = createDeadLetterStore(database, log);
    const letter = (offset: number, source: number) => {
      const { headers } = deadLetterMessage({ topic: "source", partition: 0, offset: source });
      const record = { timestamp: "0", key: null, value: Buffer.from("x"), headers: Object.entries(headers) };
      return { offset, ...record, headers: addProof(proofKey, topic, record).headers };
    };
    const handler = createDeadLetterHandler(
      { topic, partition: 0 },
      {
        ...{ groupId, store, identify: () => undefined, findNamespace: () => undefined, log },
        getProofKey: () => Promise.resolve(proofKey),
      },
    );
    await handler.claim();
    const write = async (from: number, records: readonly ReturnType<typeof letter>[]) => {
      const step = {
        from: from === 0 ? undefined : { offset: from, epoch: 1 },
        to: { offset: (records.at(-1)?.offset ?? 0) + 1, epoch: 1 },
      };
      await handler.write(handler.prepare(records, 1), step, () => undefined);
    };
    const repeat = async (...args: Parameters<typeof write>) => {
      await assert.rejects(write(...args), UnavailableError);
      await handler.claim();
      await write(...args);
    };
    failPart("insert", { 1: tooSlow });
    await repeat(0, [letter(0, 7), letter(1, 8), letter(2, 7)]);
    failPart("update", { 0: tooSlow });
    await repeat(3, [letter(3, 8), letter(4, 7)]);
    const found = await createDeadLetterReader(database, topic).find(["source-0-7", "source-0-8"]);
    assert.deepEqual(found.map(({ id, copies }) => `${id}: ${copies}`).toSorted(), [
      "source-0-7: 3",
      "source-0-8: 2",
    ]);
  });

  it("of push feedback moves no position, and deactivates the rest when it is repeated", async () => {
    const store = createFeedbackStore(database, log);
    const records = db.collection<InstallationRecord>("sys_push_notif_app_install");
    const key = { group: unique("group"), topic: "feedback", partition: 0 };
    const tokens = [unique("token"), unique("token")];
    await records.insertMany(tokens.map((token) => installation(token)));
    await store.claim(key);
    const write = async (): Promise<void> => {
      const found = await store.findTokens(tokens);
      const batch = await store.begin({ key, from: undefined, to: { offset: 1, epoch: 1 } });
      try {
        await batch.write(
          found
            .filter(({ active }) => active)
            .map((one) => ({ ...one, reason: "dead", unseenSince: new Date() })),
        );
        await batch.commit();
      } finally {
        await batch.end();
      }
    };
    failPart("update", { 1: tooSlow });
    await assert.rejects(write(), UnavailableError);
    assert.equal((await store.findPositions(key.group, key.topic)).size, 0);
    await write();
    assert.equal(await records.countDocuments({ token: { $in: tokens }, active: true }), 0);
    assert.equal((await store.findPositions(key.group, key.topic)).get(0)?.offset, 1);
  });

  it("of registrations is sent once more after a change of the primary, as a whole or in part", async () => {
    const records = db.collection<InstallationRecord>("sys_push_notif_app_install");
    const store = createInstallationStore(database);
    const write = (...tokens: string[]): Promise<readonly unknown[]> =>
      store.write(
        tokens.map((token) => {
          const key = { token, application: "agent", platform: "ios" };
          return { kind: "register" as const, user: "ann", key };
        }),
      );
    const tokens = ["a", "b", "c"].map(unique);
    proxy.fail({ command: "update", executed: false, answer: mongoErrors.hostUnreachable, times: 1 });
    assert.deepEqual(await write(...tokens), []);
    const later = ["d", "e", "f"].map(unique);
    // As mongos reports it.
    failPart("update", { 1: { code: 10107, errmsg: "not primary" }, 2: duplicate }, false);
    assert.deepEqual(await write(...later), []);
    const found = await records.find({ token: { $in: [...tokens, ...later] } }).toArray();
    assert.equal(
      found.length,
      5,
      "the first statement of the second bulk was acknowledged by the proxy alone",
    );
  });

  it("of announced topics is decided again with what was stored", async () => {
    const topics = createTopicStore(database, log, { historyRetentionDays: undefined });
    const key = { group: unique("group"), topic: unique("announcements"), partition: 0 };
    await topics.claim(key);
    const ids = [unique("topic"), unique("topic")];
    const announcements = ids.map((id, offset) => ({
      ...{ kind: "define" as const, offset, definition: definition(id) },
    }));
    failPart("insert", { 1: duplicate });
    const { counts } = await applyAnnouncements({
      ...{ store: topics, key, from: undefined, to: { offset: 2, epoch: 1 }, announcements },
    });
    assert.equal(counts.unchanged, 2);
    assert.equal((await topics.findByExternalIds(ids)).length, 2);
  });
});
