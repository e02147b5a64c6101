import type { Admin, Batch, Consumer } from "kafkajs";

import { KafkaUnavailableError, getErrorMessage } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { now, repeat } from "../lib/platform.ts";
import { newId } from "../lib/sys-id.ts";
import { waitAtMost } from "../lib/timeout.ts";
import type { LogBounds, PartitionRecord, ReadOptions } from "../sync/records.ts";
import { throwGroupDenials } from "./workarounds/denied-groups.ts";
import { quoteTopic, toKafkaError, type Rights } from "./errors.ts";
import { createAsyncQueue, type AsyncQueue } from "./async-queue.ts";
import { toLogRecord } from "./record-format/batch-reader.ts";
import type { KafkaRequests } from "./requests.ts";
import type { KafkaClient } from "./sockets.ts";
import { findOrigin } from "./workarounds/fetches.ts";

export interface LogReaderOptions {
  readonly client: KafkaClient;
  readonly requests: Pick<KafkaRequests, "fetchBounds">;
  readonly admin: Pick<Admin, "deleteGroups">;
  /** The prefix of the temporary groups' ids, so that access rules for the prefix cover them. */
  readonly groupId: string;
  readonly log: Logger;
}

/** The unread records of one fetched batch. */
interface FetchedBatch {
  readonly partition: number;
  readonly records: readonly PartitionRecord["record"][];
}

const fetchWaitMs = 250;
const heartbeatIntervalMs = 2_000;
const checkIntervalMs = 1_000;
/** This is longer than kafkajs' request timeout. */
const stallTimeoutMs = 30_000;
const leaveTimeoutMs = 5_000;

/** See LogReader.read in src/sync/records.ts. */
export async function* readLog(
  { client: { kafka, dropConnection }, requests, admin, groupId: prefix, log }: LogReaderOptions,
  topic: string,
  { from, abort }: ReadOptions,
): AsyncGenerator<PartitionRecord, void, undefined> {
  const getBounds = () => requests.fetchBounds(topic, "committed");
  const bounds = await getBounds();
  if (bounds === undefined) throw new KafkaUnavailableError(`there is no Kafka topic named "${topic}"`);
  const unread = createUnreadRanges(bounds, from);
  if (unread.list().length === 0) return;

  const ended = new AbortController();
  const groupId = `${prefix}.reader-${newId().slice(0, 12)}`;
  throwGroupDenials(kafka);
  const consumer = kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: fetchWaitMs,
    heartbeatInterval: heartbeatIntervalMs,
    // A broker that has just started rejects requests at first. createStallCheck limits the time.
    retry: {
      initialRetryTime: 300,
      retries: 3,
      restartOnFailure: () => Promise.resolve(!ended.signal.aborted),
    },
  });
  consumer.on(consumer.events.REQUEST_TIMEOUT, dropConnection);
  const queue = createAsyncQueue<FetchedBatch>();
  const rights = {
    TOPIC_AUTHORIZATION_FAILED: `Read on ${quoteTopic(topic)}`,
    GROUP_AUTHORIZATION_FAILED: `Read on the groups whose names begin with ${JSON.stringify(`${prefix}.reader-`)}`,
  };
  const stop = (): void => {
    queue.fail(new KafkaUnavailableError(`reading ${topic} was stopped`));
  };
  const checkStall = createStallCheck({ topic, unread, queue, getBounds });
  const stopChecks = repeat(checkIntervalMs, checkStall);
  try {
    abort.addEventListener("abort", stop, { once: true });
    if (abort.aborted) stop();
    await consume({ consumer, topic, unread, queue, rights, getBounds });
    for (let next = await queue.shift(); next !== undefined; next = await queue.shift()) {
      const { partition, records } = next;
      for (const record of records) yield { partition, record };
    }
  } finally {
    ended.abort();
    abort.removeEventListener("abort", stop);
    stopChecks();
    queue.close();
    await waitAtMost(leaveTimeoutMs, consumer.disconnect());
    await admin.deleteGroups([groupId]).catch((error: unknown) => {
      // The broker deletes an empty group eventually.
      log.debug({ groupId, reason: getErrorMessage(error) }, "temporary consumer group not deleted");
    });
  }
}

/** The offsets of each partition that are still to be read. */
type UnreadRanges = ReturnType<typeof createUnreadRanges>;

function createUnreadRanges(bounds: ReadonlyMap<number, LogBounds>, from: ReadOptions["from"]) {
  const ranges = new Map<number, { next: number; readonly end: number }>();
  for (const [partition, { low, high }] of bounds) {
    const next = Math.max(low, from?.get(partition) ?? low);
    if (next < high) ranges.set(partition, { next, end: high });
  }
  return {
    list: () => [...ranges].map(([partition, { next, end }]) => ({ partition, next, end })),
    /** Returns the records of a batch that were not read yet. After a rebalance some are fetched twice. */
    filter({ partition, messages }: Batch): FetchedBatch["records"] {
      const range = ranges.get(partition);
      if (range === undefined) return [];
      return messages.map(toLogRecord).filter(({ offset }) => offset >= range.next && offset < range.end);
    },
    /** Marks everything before `offset` as read. Returns true when this completes the partition. */
    advance(partition: number, offset: number): boolean {
      const range = ranges.get(partition);
      if (range === undefined) return false;
      range.next = Math.max(range.next, offset);
      return range.next >= range.end && ranges.delete(partition);
    },
  };
}

interface Consumption {
  readonly consumer: Consumer;
  readonly topic: string;
  readonly unread: UnreadRanges;
  readonly queue: AsyncQueue<FetchedBatch>;
  /** The required rights, for errors. */
  readonly rights: Rights;
  /** Throws UnavailableError. */
  readonly getBounds: () => Promise<ReadonlyMap<number, LogBounds> | undefined>;
}

/**
 * Starts to fetch the unread records into the queue. Throws UnavailableError; later errors fail the queue.
 */
async function consume({ consumer, topic, unread, queue, rights, getBounds }: Consumption): Promise<void> {
  const advance = (partition: number, offset: number): void => {
    if (unread.advance(partition, offset)) consumer.pause([{ topic, partitions: [partition] }]);
    if (unread.list().length === 0) queue.end();
  };

  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    // Nothing is committed, so each join seeks to our own offsets.
    const offsets = new Map(unread.list().map(({ partition, next }) => [partition, next]));
    for (const partition of payload.memberAssignment[topic] ?? []) {
      const next = offsets.get(partition);
      if (next === undefined) consumer.pause([{ topic, partitions: [partition] }]);
      else consumer.seek({ topic, partition, offset: String(next) });
    }
  });
  /** Continues after records that were deleted before they were read. */
  async function skipTo(partition: number): Promise<void> {
    const low = (await getBounds())?.get(partition)?.low ?? 0;
    advance(partition, low);
    consumer.seek({ topic, partition, offset: String(low) });
  }

  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) queue.fail(toKafkaError(payload.error, rights));
  });

  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      async eachBatch(payload) {
        const { batch } = payload;
        if (findOrigin(batch).isOutOfRange) return skipTo(batch.partition);
        const records = unread.filter(batch);
        const taken = records.length === 0 ? undefined : queue.push({ partition: batch.partition, records });
        advance(batch.partition, Number(batch.lastOffset()) + 1);
        while (taken !== undefined && !(await waitAtMost(heartbeatIntervalMs, taken)))
          await payload.heartbeat();
      },
    });
  } catch (error) {
    throw toKafkaError(error, rights);
  }
}

/**
 * Returns a check, to be called every second, that completes partitions whose remaining records have been
 * deleted, and fails the queue when Kafka delivers nothing for `stallTimeoutMs`.
 */
function createStallCheck({
  topic,
  unread,
  queue,
  getBounds,
}: Pick<Consumption, "topic" | "unread" | "queue" | "getBounds">): () => void {
  let lastRanges = "";
  let changedAt = now();

  async function skipDeleted(): Promise<void> {
    const bounds = await getBounds();
    for (const { partition } of unread.list()) unread.advance(partition, bounds?.get(partition)?.low ?? 0);
    if (unread.list().length === 0) queue.end();
  }

  return () => {
    const ranges = JSON.stringify(unread.list());
    if (ranges !== lastRanges || ranges === "[]" || !queue.isEmpty()) {
      lastRanges = ranges;
      changedAt = now();
      return;
    }
    if (now() - changedAt > stallTimeoutMs) {
      queue.fail(
        new KafkaUnavailableError(
          `Kafka does not respond: no records of ${topic} for ${stallTimeoutMs / 1_000} s`,
        ),
      );
      return;
    }
    skipDeleted().catch(() => undefined);
  };
}
