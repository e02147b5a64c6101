import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { KafkaUnavailableError, UnavailableError } from "@topicsync/lib/errors";
import type { LogStore, Position, LogWatch, PartitionLog } from "@topicsync/kafka";
import { findStart, identifyLog, requireSameTopic } from "../../../consumers/start-position.ts";

const partition = { topic: "announcements", partition: 0 };
const clusterId = "cluster";
const stored: Position = { offset: 10, epoch: 1, topicId: "one", clusterId };
const log: PartitionLog = {
  low: 0,
  high: 20,
  topicId: "one",
  clusterId,
  leader: 1,
  leaderEpoch: 4,
  partitions: 1,
};
const withoutIds = { ...log, topicId: undefined };

describe("reading starts", () => {
  it("at the beginning of the log without a stored position", () => {
    assert.deepEqual(findStart(undefined, { ...log, low: 4 }, 3), {
      position: { offset: 4, epoch: 3, topicId: "one", clusterId },
    });
  });

  it("at the stored position if the log has it, the end of the log included", () => {
    assert.deepEqual(findStart(stored, log, 1), { position: stored });
    assert.deepEqual(findStart(stored, { ...log, high: 10 }, 1), { position: stored });
  });

  it("at the first record that is left if records before it were deleted", () => {
    const { position, warning } = findStart(stored, { ...log, low: 15 }, 1);
    assert.deepEqual(position, { ...stored, offset: 15 });
    assert.match(warning ?? "", /deleted before they were read/);
  });

  it("at the end of a log that ends before the position, and says which records Kafka lost", () => {
    assert.deepEqual(findStart(stored, { ...log, high: 7 }, 2), {
      position: { ...stored, offset: 7, epoch: 2 },
      lost: { from: 7, to: 9 },
    });
  });

  it("at the beginning of another log, whatever its bounds are", () => {
    for (const high of [0, 5, 10, 20]) {
      const { position, warning } = findStart(stored, { ...log, topicId: "two", high }, 2);
      assert.deepEqual(position, { offset: 0, epoch: 2, topicId: "two", clusterId });
      assert.match(warning ?? "", /the log is a new one/);
    }
  });

  it("never in a log that was replaced", () => {
    const later: Position = { offset: 3, epoch: 2, topicId: "two" };
    assert.throws(() => findStart(later, log, 1), KafkaUnavailableError);
    assert.throws(() => findStart(later, log, 2), KafkaUnavailableError);
  });

  it("where a person set the position, or where it was before ids were stored", () => {
    const { position } = findStart({ offset: 12, epoch: 1 }, { ...log, topicId: "two" }, 3);
    assert.deepEqual(position, { offset: 12, epoch: 3, topicId: "two", clusterId });
  });

  it("without topic ids in a new epoch if the log ends before the position", () => {
    assert.deepEqual(findStart(stored, withoutIds, undefined).position, stored);
    const { position, warning } = findStart(stored, { ...withoutIds, high: 7 }, undefined);
    assert.deepEqual(position, { offset: 0, epoch: 2, clusterId });
    assert.match(warning ?? "", /the log is a new one/);
  });

  it("inside the log, and never in an earlier epoch", () => {
    const id = fc.constantFrom("one", "two", undefined);
    const position = fc.record({ offset: fc.nat(30), epoch: fc.integer({ min: 1, max: 3 }), topicId: id });
    fc.assert(
      fc.property(
        fc.option(position, { nil: undefined }),
        fc.nat(10),
        fc.nat(20),
        id,
        fc.integer({ min: 1, max: 4 }),
        (from, low, size, topicId, epoch) => {
          const bounds = { ...log, low, high: low + size, topicId };
          let start;
          try {
            start = findStart(from, bounds, topicId === undefined ? undefined : epoch).position;
          } catch (error) {
            return error instanceof UnavailableError;
          }
          return (
            start.offset >= low &&
            start.offset <= low + size &&
            (from === undefined || start.epoch >= from.epoch)
          );
        },
      ),
    );
  });
});

describe("the epoch of a log", () => {
  /** Epochs that were allotted, and whether the brokers agree. */
  function createScene(known: Readonly<Record<string, number>>, agrees = true) {
    const allotted: unknown[] = [];
    const watch: LogWatch = {
      fetchLog: () => Promise.resolve(log),
      confirmLog: () =>
        agrees ? Promise.resolve() : Promise.reject(new KafkaUnavailableError("the brokers do not agree")),
      fetchTombstoneRetentionMs: () => Promise.resolve(undefined),
    };
    const logs: LogStore = {
      findEpoch: (_, topicId) => Promise.resolve(known[topicId]),
      beginEpoch: (_, { topicId }, lowest) => {
        allotted.push([topicId, lowest]);
        return Promise.resolve(Math.max(lowest, 7));
      },
      findLogs: () => Promise.resolve([]),
    };
    return { allotted, sources: { watch, logs } };
  }

  it("is the known one, without asking the brokers", async () => {
    const { sources } = createScene({ one: 1 }, false);
    assert.equal(await identifyLog(partition, stored, log, sources), 1);
  });

  it("is allotted to a log that is new, after that of the position", async () => {
    const { sources, allotted } = createScene({ one: 1 });
    assert.equal(await identifyLog(partition, stored, { ...log, topicId: "two" }, sources), 7);
    assert.equal(await identifyLog(partition, undefined, { ...log, topicId: "two" }, sources), 7);
    assert.deepEqual(allotted, [
      ["two", 2],
      ["two", 1],
    ]);
  });

  it("is at least that of a position from before ids were stored", async () => {
    const { sources, allotted } = createScene({});
    await identifyLog(partition, { offset: 10, epoch: 3 }, log, sources);
    assert.deepEqual(allotted, [["one", 3]]);
  });

  it("is a new one if Kafka lost records before the position", async () => {
    const { sources, allotted } = createScene({ one: 1 });
    assert.equal(await identifyLog(partition, stored, { ...log, high: 7 }, sources), 7);
    assert.deepEqual(allotted, [["one", 2]]);
  });

  it("is not allotted while the brokers do not agree", async () => {
    const { sources, allotted } = createScene({ one: 1 }, false);
    await assert.rejects(
      identifyLog(partition, stored, { ...log, topicId: "two" }, sources),
      UnavailableError,
    );
    assert.deepEqual(allotted, []);
  });

  it("counts only if the brokers agree when there is no position, or the log ends before it", async () => {
    const { sources } = createScene({ one: 1 }, false);
    await assert.rejects(identifyLog(partition, undefined, log, sources), UnavailableError);
    await assert.rejects(identifyLog(partition, stored, { ...log, high: 7 }, sources), UnavailableError);
    await assert.rejects(
      identifyLog(partition, stored, { ...withoutIds, high: 7 }, sources),
      UnavailableError,
    );
  });
});

describe("an offset that a person has set in Kafka", () => {
  const set = { offset: 5, epoch: 1 };
  const at = (found: Position | undefined, keepsPositionInKafka = true) => ({
    keepsPositionInKafka,
    findPosition: () => Promise.resolve(found),
  });

  it("does not count for a Kafka topic that was created since", async () => {
    for (const found of [undefined, { ...set, offset: 0 }])
      await assert.rejects(requireSameTopic(set, at(found)), {
        message: "the position was changed while the log was looked up",
      });
  });

  it("counts while it is there", async () => {
    await requireSameTopic(set, at(set));
  });

  it("is looked up again only if it may belong to another topic", async () => {
    await requireSameTopic(undefined, at(set));
    await requireSameTopic({ ...set, topicId: "a" }, at(undefined));
    await requireSameTopic(set, at(undefined, false));
  });
});
