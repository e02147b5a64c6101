/** Replacements of what was read, where transactions read what others have committed, as DocumentDB's do. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Collection, Document } from "mongodb";

import { TransactionConflictError } from "@topicsync/lib/errors";
import { createDeadLetterHandler } from "../../../consumers/dead-letters/handler.ts";
import { addProof } from "../../../src/dead-letters/proof.ts";
import type { Database } from "../../../src/storage/database/database.ts";
import { createDeadLetterReader, createDeadLetterStore } from "../../../src/storage/dead-letters.ts";
import { collections, type CollectionName } from "../../../src/storage/names.ts";
import { createTopicDetailsStore } from "../../../src/storage/topics/details.ts";
import { fromTopicRecord } from "../../../src/storage/topics/records.ts";
import { createRenames } from "../../../src/storage/topics/renames.ts";
import { createTopicSetStore } from "../../../src/storage/topics/sets.ts";
import type { SetWrites } from "../../../src/plans/stores.ts";
import { noDetails, toNextDetails, type StoredDetails } from "../../../src/topics/details/details.ts";
import { connectDatabase } from "../../support/database.ts";
import { deadLetterMessage, proofKey } from "../../support/dead-letters.ts";
import { omit } from "../../support/mongo-dialects.ts";
import { unique } from "../../support/names.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const { database, log } = await connectDatabase();
const options = { historyRetentionDays: undefined };

/** Operations run outside their session; `work` runs before the first replacement in a collection. */
function interfere(name: CollectionName, work: () => Promise<void>): Database {
  let pending: (() => Promise<void>) | undefined = work;
  const withoutSession = (arg: unknown): unknown =>
    typeof arg === "object" && arg !== null && "session" in arg ? omit("session")(arg) : arg;
  return {
    ...database,
    startSession: () => undefined,
    collection<T extends Document>(opened: CollectionName): Collection<T> {
      return new Proxy(database.collection<T>(opened), {
        get(target, member) {
          const value: unknown = Reflect.get(target, member);
          if (typeof value !== "function") return value;
          const call = (args: readonly unknown[]): unknown =>
            Reflect.apply(value, target, args.map(withoutSession));
          if (opened !== name || !["replaceOne", "bulkWrite"].includes(String(member)))
            return (...args: readonly unknown[]) => call(args);
          return async (...args: readonly unknown[]) => {
            const first = pending;
            pending = undefined;
            await first?.();
            return call(args);
          };
        },
      });
    },
  };
}

/** A transaction whose operations do not run in it. */
const startSession = () => {
  const session = database.startSession();
  assert.ok(session !== undefined);
  return { session };
};

describe("what was changed since it was read is not overwritten:", () => {
  const toWrites = (set: string, plan: string): SetWrites => ({
    ...{ set, origin: undefined, on: new Date(), namespaces: [plan], applied: 1 },
    apply: { plan, by: "ann", total: 1 },
    ...{ details: [], removedDetails: [], replacedDetails: [] },
  });
  const sets = createTopicSetStore(database, options);

  for (const before of [[], ["first"]])
    it(`a set that was applied ${before.length === 0 ? "never" : "once"}`, async () => {
      const set = unique("set");
      for (const plan of before) await sets.write(toWrites(set, plan), {});
      const slow = createTopicSetStore(
        interfere(collections.topicSets, () => sets.write(toWrites(set, "fast"), {})),
        options,
      );
      const { session } = startSession();
      await assert.rejects(slow.write(toWrites(set, "slow"), { session }));
      await session.endSession();
      await slow.write(toWrites(set, "slow"), {});
      const found = await sets.find(set);
      assert.deepEqual(
        found?.view.applies.map(({ plan }) => plan).toSorted(),
        [...before, "fast", "slow"].toSorted(),
      );
      assert.deepEqual(found.namespaces, [...before, "fast", "slow"].toSorted());
    });

  it("a set without transactions", async () => {
    const set = unique("set");
    await sets.write(toWrites(set, "first"), {});
    const fast = (): Promise<void> => sets.write(toWrites(set, "fast"), {});
    await createTopicSetStore(interfere(collections.topicSets, fast), options).write(
      toWrites(set, "slow"),
      {},
    );
    assert.equal((await sets.find(set))?.view.applies.length, 3);
  });

  it("a dead letter", async () => {
    const topic = unique("dead-letter");
    const open = async (partition: number, at = database) => {
      const handler = createDeadLetterHandler(
        { topic, partition },
        {
          ...{ groupId: topic, store: createDeadLetterStore(at, log), log },
          ...{ identify: () => undefined, findNamespace: () => undefined },
          getProofKey: () => Promise.resolve(proofKey),
        },
      );
      await handler.claim();
      return async (offset: number): Promise<void> => {
        const { headers } = deadLetterMessage({ topic: "source", partition: 0, offset: 7 });
        const named = {
          timestamp: "0",
          key: null,
          value: Buffer.from("x"),
          headers: Object.entries(headers),
        };
        const record = { offset, ...named, headers: addProof(proofKey, topic, named).headers };
        const from = offset === 0 ? undefined : { offset, epoch: 1 };
        const step = { from, to: { offset: offset + 1, epoch: 1 } };
        await handler.write(handler.prepare([record], 1), step, () => undefined);
      };
    };
    await (
      await open(0)
    )(0);
    const other = await open(1);
    const slow = await open(
      2,
      interfere(collections.deadLetters, () => other(0)),
    );
    await slow(0);
    const [found] = await createDeadLetterReader(database, topic).find(["source-0-7"]);
    assert.equal(found?.copies, 3);
  });

  it("the details of a topic that is renamed", async () => {
    const details = createTopicDetailsStore(database, options);
    const from = fromTopicRecord(createTopicRecord({ externalId: unique("old") }));
    const to = { ...from, externalId: unique("new"), version: 2 };
    const describeOld = async (current: StoredDetails | undefined, owner: string): Promise<StoredDetails> => {
      const next = { topic: from, details: { ...noDetails, owner }, by: "bob", at: new Date() };
      const described = toNextDetails(current, next);
      await details.replace(described, []);
      return described;
    };
    const first = await describeOld(undefined, "noc");
    const racing = interfere(collections.topicDetails, async () => {
      await describeOld(first, "ran");
    });
    const { session } = startSession();
    await assert.rejects(
      createRenames(racing, undefined)([{ from, to }], { session }),
      TransactionConflictError,
    );
    await session.endSession();
    assert.equal((await details.find([from.externalId]))[0]?.owner, "ran");
  });
});
