import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import type { Admin, Batch, Consumer } from "kafkajs";

import { KafkaUnavailableError, getErrorMessage } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { LogBounds, PartitionRecord, ReadOptions } from "../sync/records.ts";
import { restoreDenial } from "./workarounds/denied-groups.ts";
import { quoteTopic, toKafkaError, type Rights } from "./errors.ts";
import { createAsyncQueue, type AsyncQueue } from "./async-queue.ts";
import { toLogRecord } from "./codecs/record-batches.ts";
import type { KafkaClient } from "./sockets.ts";

export interface LogReaderOptions {
  readonly client: KafkaClient;
  readonly admin: Admin;
  /** The throwaway groups' names begin with it, so that access rules for the prefix hold for them as well. */
  readonly groupId: string;
  readonly log: Logger;
}

/** Records that were fetched together, those that are wanted. */
interface Fetched {
  readonly partition: number;
  readonly records: readonly PartitionRecord["record"][];
}

const fetchWaitMs = 250;
const heartbeatEveryMs = 2_000;
const lookAfterMs = 1_000;
/** Longer than an answer that comes at all may take. */
const maxSilenceMs = 30_000;
const leaveWithinMs = 5_000;

/** Where each partition of a Kafka topic begins and ends; undefined when there is no such topic. Throws UnavailableError. */
export async function readBounds(
  admin: Admin,
  topic: string,
): Promise<ReadonlyMap<number, LogBounds> | undefined> {
  try {
    if (!(await admin.listTopics()).includes(topic)) return undefined;
    const offsets = await admin.fetchTopicOffsets(topic);
    return new Map(
      offsets.map(({ partition, low, high }) => [partition, { low: Number(low), high: Number(high) }]),
    );
  } catch (error) {
    throw toKafkaError(error, { TOPIC_AUTHORIZATION_FAILED: `Describe on ${quoteTopic(topic)}` });
  }
}

/** See LogReader.read in src/sync/records.ts. */
export async function* readLog(
  { client: { kafka, giveUp }, admin, groupId: prefix, log }: LogReaderOptions,
  topic: string,
  { from, abort }: ReadOptions,
): AsyncGenerator<PartitionRecord, void, undefined> {
  const bounds = await readBounds(admin, topic);
  if (bounds === undefined) throw new KafkaUnavailableError(`there is no Kafka topic named "${topic}"`);
  const stretch = createStretch(bounds, from);
  if (stretch.open().length === 0) return;

  const ended = new AbortController();
  const groupId = `${prefix}.reader-${randomBytes(6).toString("hex")}`;
  const consumer = kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: fetchWaitMs,
    heartbeatInterval: heartbeatEveryMs,
    // A broker that has just started asks for patience; for how much of it, is looked after below.
    retry: {
      initialRetryTime: 300,
      retries: 3,
      restartOnFailure: () => Promise.resolve(!ended.signal.aborted),
    },
  });
  consumer.on(consumer.events.REQUEST_TIMEOUT, giveUp);
  const handover = createAsyncQueue<Fetched>();
  const rights = {
    TOPIC_AUTHORIZATION_FAILED: `Read on ${quoteTopic(topic)}`,
    GROUP_AUTHORIZATION_FAILED: `Read on the groups whose names begin with ${JSON.stringify(`${prefix}.reader-`)}`,
  };
  const stop = (): void => {
    handover.fail(new KafkaUnavailableError(`reading ${topic} was stopped`));
  };
  const ask = () => readBounds(admin, topic);
  const lookingAfter = setInterval(watchOver({ topic, stretch, handover, ask }), lookAfterMs);
  try {
    abort.addEventListener("abort", stop, { once: true });
    if (abort.aborted) stop();
    await consume({ consumer, groupId, topic, stretch, handover, rights });
    for (let next = await handover.take(); next !== undefined; next = await handover.take()) {
      const { partition, records } = next;
      for (const record of records) yield { partition, record };
    }
  } finally {
    ended.abort();
    abort.removeEventListener("abort", stop);
    clearInterval(lookingAfter);
    handover.close();
    await Promise.race([consumer.disconnect(), sleep(leaveWithinMs, undefined, { ref: false })]);
    await admin.deleteGroups([groupId]).catch((error: unknown) => {
      // The broker forgets an empty group by itself; nothing hangs on its being deleted now.
      log.debug({ groupId, reason: getErrorMessage(error) }, "temporary consumer group not deleted");
    });
  }
}

/** The part of each partition that is still to be read. */
type Stretch = ReturnType<typeof createStretch>;

function createStretch(bounds: ReadonlyMap<number, LogBounds>, from: ReadOptions["from"]) {
  const parts = new Map<number, { next: number; readonly end: number }>();
  for (const [partition, { low, high }] of bounds) {
    const next = Math.max(low, from?.get(partition) ?? low);
    if (next < high) parts.set(partition, { next, end: high });
  }
  return {
    open: () => [...parts].map(([partition, { next, end }]) => ({ partition, next, end })),
    /** The records of a batch that are still wanted; none twice, whatever is fetched again. */
    wanted({ partition, messages }: Batch): Fetched["records"] {
      const part = parts.get(partition);
      if (part === undefined) return [];
      return messages.map(toLogRecord).filter(({ offset }) => offset >= part.next && offset < part.end);
    },
    /** Everything before `offset` was read, or is not there. True when the partition's end is reached by it. */
    advance(partition: number, offset: number): boolean {
      const part = parts.get(partition);
      if (part === undefined) return false;
      part.next = Math.max(part.next, offset);
      return part.next >= part.end && parts.delete(partition);
    },
  };
}

interface Consumption {
  readonly consumer: Consumer;
  readonly topic: string;
  readonly stretch: Stretch;
  readonly handover: AsyncQueue<Fetched>;
  readonly groupId: string;
  /** What the broker may deny. */
  readonly rights: Rights;
}

/** Fetches what is to be read and hands it over. Throws UnavailableError; what goes wrong later fails the handover. */
async function consume({ consumer, groupId, topic, stretch, handover, rights }: Consumption): Promise<void> {
  const advance = (partition: number, offset: number): void => {
    if (stretch.advance(partition, offset)) consumer.pause([{ topic, partitions: [partition] }]);
    if (stretch.open().length === 0) handover.end();
  };

  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    // The group keeps no offsets: each time that it is joined, reading goes on from our own.
    const open = new Map(stretch.open().map(({ partition, next }) => [partition, next]));
    for (const partition of payload.memberAssignment[topic] ?? []) {
      const next = open.get(partition);
      if (next === undefined) consumer.pause([{ topic, partitions: [partition] }]);
      else consumer.seek({ topic, partition, offset: String(next) });
    }
  });
  // Told of every batch, also of those that hold nothing but the marks of transactions.
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    advance(payload.partition, Number(payload.lastOffset) + 1);
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) handover.fail(toKafkaError(restoreDenial(groupId, payload.error), rights));
  });

  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      async eachBatch(payload) {
        const { batch } = payload;
        const records = stretch.wanted(batch);
        const taken =
          records.length === 0 ? undefined : handover.give({ partition: batch.partition, records });
        advance(batch.partition, Number(batch.lastOffset()) + 1);
        while (taken !== undefined && !(await isDone(taken, heartbeatEveryMs))) await payload.heartbeat();
      },
    });
  } catch (error) {
    throw toKafkaError(error, rights);
  }
}

/** True once the promise is resolved; false when that takes longer. */
async function isDone(promise: Promise<void>, withinMs: number): Promise<boolean> {
  const late = new AbortController();
  const waited = sleep(withinMs, false, { signal: late.signal }).catch(() => false);
  const done = await Promise.race([promise.then(() => true), waited]);
  late.abort();
  return done;
}

/**
 * Ends what would never end by itself: a partition whose remaining records were deleted while it was read, and a broker
 * that gives nothing for long. Called every second.
 */
function watchOver({
  topic,
  stretch,
  handover,
  ask,
}: Pick<Consumption, "topic" | "stretch" | "handover"> & {
  readonly ask: () => Promise<ReadonlyMap<number, LogBounds> | undefined>;
}): () => void {
  let before = "";
  let since = Date.now();

  async function removeDeleted(): Promise<void> {
    const bounds = await ask();
    for (const { partition } of stretch.open()) stretch.advance(partition, bounds?.get(partition)?.low ?? 0);
    if (stretch.open().length === 0) handover.end();
  }

  return () => {
    const now = JSON.stringify(stretch.open());
    if (now !== before || now === "[]" || handover.isWaiting()) {
      before = now;
      since = Date.now();
      return;
    }
    if (Date.now() - since > maxSilenceMs) {
      handover.fail(
        new KafkaUnavailableError(
          `Kafka does not answer: nothing more of ${topic} came for ${maxSilenceMs / 1_000} s`,
        ),
      );
      return;
    }
    removeDeleted().catch(() => undefined);
  };
}
