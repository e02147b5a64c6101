import { setTimeout as sleep } from "node:timers/promises";

import kafkajs, { type Batch, type ConsumerCrashEvent, type EachBatchPayload } from "kafkajs";

import { getErrorMessage } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { GroupListener, GroupMember, LogRecord, RecordBatch } from "../sync/records.ts";
import { restoreDenial } from "./workarounds/denied-groups.ts";
import { findDenial, quoteGroup, quoteTopic, toKafkaError } from "./errors.ts";
import { toLogRecord } from "./codecs/record-batches.ts";
import type { KafkaClient } from "./sockets.ts";

export interface MemberOptions {
  readonly groupId: string;
  readonly topic: string;
  readonly log: Logger;
}

const commitEveryMs = 1_000;
/** Short, so that an idle consumer stops soon; a record that arrives ends the wait at once. */
const fetchWaitMs = 500;
const partitionsAtOnce = 8;
/** Partitions that were added to the topic are found by asking; kafkajs asks every five minutes unless told otherwise. */
const metadataForMs = 10_000;
/** How long a member that was killed keeps its partitions: nothing is synced meanwhile. */
const sessionTimeoutMs = 10_000;
const heartbeatEveryMs = 2_000;
const leaveWithinMs = 5_000;
const startAnewAfterMs = 1_000;

/** A member of a consumer group, by kafkajs. */
export function createMember(
  { kafka, giveUp }: KafkaClient,
  { groupId, topic, log }: MemberOptions,
): GroupMember {
  /** Set when the member is to end: kafkajs would otherwise start a member anew that was stopped while it joined. */
  let stopping = false;
  const consumer = kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: fetchWaitMs,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: heartbeatEveryMs,
    metadataMaxAge: metadataForMs,
    // Whatever can be tried again is, for as long as it takes: an outage must not end the program.
    retry: {
      initialRetryTime: 300,
      maxRetryTime: 1_000,
      retries: 5,
      restartOnFailure: () => Promise.resolve(!stopping),
    },
  });
  consumer.on(consumer.events.REQUEST_TIMEOUT, giveUp);
  const rights = {
    TOPIC_AUTHORIZATION_FAILED: `Read on ${quoteTopic(topic)}`,
    GROUP_AUTHORIZATION_FAILED: `Read on ${quoteGroup(groupId)}`,
  };
  /** Offsets to tell the broker, by partition. */
  const uncommitted = new Map<number, number>();
  let committing: NodeJS.Timeout | undefined;
  let startingAnew: NodeJS.Timeout | undefined;
  /** Between a member that kafkajs gave up and the next one there is none to steer; kafkajs throws then. */
  let joined = false;

  /** Partitions that are assigned anew are steered anew, so nothing is lost with a step that meets no member. */
  function steer(step: () => void): void {
    if (joined) step();
  }

  async function flushCommits(): Promise<void> {
    const offsets = [...uncommitted].map(([partition, offset]) => ({
      topic,
      partition,
      offset: String(offset),
    }));
    uncommitted.clear();
    if (offsets.length === 0) return;
    // Positions live in the database; the broker's copy only feeds lag monitors.
    await consumer.commitOffsets(offsets).catch((error: unknown) => {
      log.debug({ reason: getErrorMessage(error) }, "offset commit failed");
    });
  }

  async function eachBatch(payload: EachBatchPayload, listener: GroupListener): Promise<void> {
    const leave: Leave = {};
    const batch = toBatch(payload, leave);
    for (const { skippedBatch } of batch.records)
      if (skippedBatch !== undefined)
        log.warn(
          { partition: `${topic}-${batch.partition.partition}`, ...skippedBatch },
          "batch too large to decompress, refused unread",
        );
    await listener.batch(batch);
    // The batch's finished part is stored; kafkajs rejoins the group on this error.
    if (leave.because !== undefined) throw leave.because;
  }

  function watch(listener: GroupListener): void {
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      const partitions = payload.memberAssignment[topic] ?? [];
      uncommitted.clear();
      joined = true;
      listener.assigned(partitions.map((partition) => ({ topic, partition })));
    });
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      const { partition, batchSize, lastOffset } = payload;
      // The types of kafkajs omit the null, which means that nothing new was fetched.
      const firstOffset = payload.firstOffset as string | null;
      // kafkajs calls `eachBatch` only where there is something to deliver.
      if (batchSize > 0 || firstOffset === null || !joined) return;
      listener.skipped({ topic, partition }, { first: Number(firstOffset), end: Number(lastOffset) + 1 });
    });
    consumer.on(consumer.events.STOP, () => {
      joined = false;
    });
    consumer.on(consumer.events.CRASH, ({ payload }: ConsumerCrashEvent) => {
      if (payload.restart || stopping) return;
      const error = restoreDenial(groupId, payload.error);
      if (findDenial(error) !== undefined) listener.died(toKafkaError(error, rights));
      else if (isOutage(payload.error))
        startingAnew = setTimeout(() => void consume(listener), startAnewAfterMs);
      else listener.died(payload.error);
    });
  }

  /** Fails by the event CRASH alone. */
  const consume = (listener: GroupListener): Promise<void> =>
    consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: partitionsAtOnce,
      eachBatch: (payload) => eachBatch(payload, listener),
    });

  return {
    async run(listener) {
      try {
        await consumer.connect();
        await consumer.subscribe({ topics: [topic], fromBeginning: true });
      } catch (error) {
        throw toKafkaError(error, rights);
      }
      watch(listener);
      await consume(listener);
      committing = setInterval(() => void flushCommits(), commitEveryMs);
    },
    pause: ({ partition }) => {
      steer(() => {
        consumer.pause([{ topic, partitions: [partition] }]);
      });
    },
    resume: ({ partition }) => {
      steer(() => {
        consumer.resume([{ topic, partitions: [partition] }]);
      });
    },
    seek: ({ partition }, offset) => {
      steer(() => {
        consumer.seek({ topic, partition, offset: String(offset) });
      });
    },
    commit: ({ partition }, offset) => void uncommitted.set(partition, offset),
    async stop() {
      stopping = true;
      clearInterval(committing);
      clearTimeout(startingAnew);
      await flushCommits();
      // A request to join waits at the broker for members that were killed; nothing is lost by not waiting with it.
      await Promise.race([consumer.disconnect(), sleep(leaveWithinMs, undefined, { ref: false })]);
    },
  };
}

/**
 * Whether this is an outage all the same, though kafkajs takes it for a fault that no restart mends: no broker could tell who
 * coordinates the group, as when the only one was killed while it was asked.
 */
const isOutage = (error: Error): boolean => error instanceof kafkajs.KafkaJSGroupCoordinatorNotFound;

/** Why a batch has to be left before its end. */
interface Leave {
  because?: Error;
}

function toBatch(payload: EachBatchPayload, leave: Leave): RecordBatch {
  const { batch } = payload;
  return {
    partition: { topic: batch.topic, partition: batch.partition },
    records: recordsOf(batch),
    end: Number(batch.lastOffset()) + 1,
    advance: (offset) => {
      payload.resolveOffset(String(offset));
    },
    async heartbeat() {
      try {
        await payload.heartbeat();
      } catch (error) {
        leave.because = error instanceof Error ? error : new Error(getErrorMessage(error));
      }
      return leave.because === undefined;
    },
    isCurrent: () => payload.isRunning() && !payload.isStale() && leave.because === undefined,
  };
}

const recordsOf = (batch: Batch): LogRecord[] => batch.messages.map(toLogRecord);
