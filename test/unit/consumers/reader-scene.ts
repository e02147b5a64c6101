import { type TestContext } from "node:test";

import { pino } from "pino";

import type { Position, PartitionLog, RecordBatch } from "@topicsync/kafka";
import type { BatchHandler } from "../../../consumers/batch.ts";
import { PartitionReader } from "../../../consumers/partition-reader.ts";
import { until } from "../../support/poll.ts";

export const partition = { topic: "announcements", partition: 0 };

/** A batch of records that was fetched at the offset of the first. */
export const createBatch = (offset: number, change: Partial<RecordBatch> = {}): RecordBatch => ({
  partition,
  topicId: "one",
  isOutOfRange: false,
  fetchedFrom: offset,
  records: [{ offset, timestamp: "2000", key: null, value: null, headers: [] }],
  end: offset + 1,
  isAtEnd: true,
  advance: () => undefined,
  heartbeat: () => Promise.resolve(true),
  isCurrent: () => true,
  ...change,
});

export const createRecords = (...offsets: number[]) =>
  offsets.flatMap((offset) => createBatch(offset).records);

/** A reader at offset 10, and a broker that shows a log from 0 to 20. */
export async function createScene(t: TestContext, handler: Partial<BatchHandler> = {}) {
  const errors: string[] = [];
  const log = pino({ level: "error" }, { write: (line) => void errors.push(line) });
  const seeks: number[] = [];
  const written: [from: number | undefined, to: Position][] = [];
  const applied: number[] = [];
  const state = { isInGroup: true, claims: 0, looks: 0 };
  const shown: {
    log: PartitionLog;
    outage?: Error;
    epochs: Record<string, number>;
  } = {
    log: { low: 0, high: 20, topicId: "one", clusterId: null, leader: 1, leaderEpoch: 0, partitions: 1 },
    epochs: { one: 1, two: 2 },
  };
  let stored: Position = { offset: 10, epoch: 1, topicId: "one" };
  const reader = new PartitionReader({
    previousClosed: Promise.resolve(),
    partition,
    member: {
      run: () => Promise.resolve(),
      isInGroup: () => state.isInGroup,
      pause: () => undefined,
      resume: () => undefined,
      seek: (_, offset) => seeks.push(offset),
      commit: () => undefined,
      stop: () => Promise.resolve(),
    },
    watch: {
      fetchLog: () =>
        shown.outage === undefined ? Promise.resolve(shown.log) : Promise.reject(shown.outage),
      confirmLog: () => Promise.resolve(),
      fetchTombstoneRetentionMs: () => Promise.resolve(undefined),
    },
    logs: {
      findEpoch: (_, topicId) => Promise.resolve(shown.epochs[topicId]),
      beginEpoch: (_, { topicId }) => {
        const epoch = Math.max(...Object.values(shown.epochs)) + 1;
        shown.epochs[topicId] = epoch;
        return Promise.resolve(epoch);
      },
      findLogs: () => Promise.resolve([]),
    },
    consumer: "announcements",
    handler: {
      claim: () => {
        state.claims += 1;
        return Promise.resolve({ ...stored, isOurs: true });
      },
      findPosition: () => {
        state.looks += 1;
        return Promise.resolve(stored);
      },
      prepare: (records) => ({ records }),
      write: ({ records }, { from, to }) => {
        written.push([from?.offset, to]);
        applied.push(...records.map(({ offset }) => offset));
        stored = to;
        return Promise.resolve();
      },
      report: () => undefined,
      ...handler,
    },
    log,
    endsOnDenial: true,
    onFailed: (error) => {
      throw error;
    },
  });
  t.after(() => reader.close());
  const untilReading = (): Promise<unknown> =>
    until("the reader reads", () => reader.status().state === "reading");
  await untilReading();
  const setPosition = (position: Position): void => {
    stored = position;
  };
  return { reader, seeks, written, applied, shown, state, errors, setPosition, untilReading };
}
