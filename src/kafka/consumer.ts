import kafkajs, { type ConsumerCrashEvent, type EachBatchPayload } from "kafkajs";

import { getErrorMessage } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { repeat, schedule, type Cancel } from "../lib/platform.ts";
import { waitAtMost } from "../lib/timeout.ts";
import type { GroupListener, GroupMember, RecordBatch } from "../sync/records.ts";
import { throwGroupDenials } from "./workarounds/denied-groups.ts";
import { findDenial, quoteGroup, quoteTopic, toKafkaError } from "./errors.ts";
import { elapsed } from "../lib/platform.ts";
import { toLogRecord } from "./record-format/batch-reader.ts";
import { findOrigin } from "./workarounds/fetches.ts";
import type { KafkaClient } from "./sockets.ts";

export interface MemberOptions {
  readonly groupId: string;
  readonly topic: string;
  readonly commitsOffsets: boolean;
  readonly log: Logger;
}

const commitIntervalMs = 1_000;
/** Short, so that an idle consumer stops quickly; a new record ends the wait at once. */
const fetchWaitMs = 500;
const maxConcurrentPartitions = 8;
/** How soon partitions that were added to the topic are noticed; kafkajs' default is five minutes. */
const metadataMaxAgeMs = 10_000;
/** How long a killed member keeps its partitions, which nobody reads meanwhile. */
const sessionTimeoutMs = 10_000;
const heartbeatIntervalMs = 2_000;
const commitTimeoutMs = 2_000;
const leaveTimeoutMs = 5_000;
const restartDelayMs = 1_000;
/** Longer, because every attempt without the right is an error in the log of the broker, too. */
const deniedRestartDelayMs = 5_000;

/** Creates a member of a consumer group. */
export function createMember(
  { kafka, dropConnection }: KafkaClient,
  { groupId, topic, commitsOffsets, log }: MemberOptions,
): GroupMember {
  /** Without this, kafkajs would restart a member that is stopped while it joins. */
  let stopping = false;
  throwGroupDenials(kafka);
  const consumer = kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    maxWaitTimeInMs: fetchWaitMs,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: heartbeatIntervalMs,
    metadataMaxAge: metadataMaxAgeMs,
    // Retries forever: an outage must not end the process.
    retry: {
      initialRetryTime: 300,
      maxRetryTime: 1_000,
      retries: 5,
      restartOnFailure: () => Promise.resolve(!stopping),
    },
  });
  consumer.on(consumer.events.REQUEST_TIMEOUT, dropConnection);
  const rights = {
    TOPIC_AUTHORIZATION_FAILED: `Read on ${quoteTopic(topic)}`,
    GROUP_AUTHORIZATION_FAILED: `Read on ${quoteGroup(groupId)}`,
  };
  /** Offsets to commit, by partition. */
  const uncommitted = new Map<number, number>();
  let stopCommits: Cancel = () => undefined;
  let cancelRestart: Cancel = () => undefined;
  let joined = false;
  let hasJoinedOnce = false;
  let lastHeartbeatAt = -Infinity;

  /** kafkajs throws while there is no member. Skipping is safe: after the next join the listener starts over. */
  function ifJoined(action: () => void): void {
    if (joined) action();
  }

  async function flushCommits(): Promise<void> {
    const offsets = [...uncommitted].map(([partition, offset]) => ({
      topic,
      partition,
      offset: String(offset),
    }));
    uncommitted.clear();
    if (offsets.length === 0) return;
    // Positions are stored in the database; committed offsets are for lag monitoring only.
    await consumer.commitOffsets(offsets).catch((error: unknown) => {
      log.debug({ reason: getErrorMessage(error) }, "offset commit failed");
    });
  }

  async function eachBatch(payload: EachBatchPayload, listener: GroupListener): Promise<void> {
    const heartbeat: HeartbeatState = {};
    const batch = toBatch(payload, heartbeat);
    for (const { skippedBatch } of batch.records)
      if (skippedBatch !== undefined)
        log.warn(
          { partition: `${topic}-${batch.partition.partition}`, ...skippedBatch },
          "batch rejected unread",
        );
    await listener.onBatch(batch);
    // What was applied is stored; kafkajs rejoins the group on this error.
    if (heartbeat.error !== undefined) throw heartbeat.error;
  }

  function watch(listener: GroupListener): void {
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      // kafkajs reports a join that ends after the member was stopped, and then has no group to seek in.
      if (stopping) return;
      const partitions = payload.memberAssignment[topic] ?? [];
      uncommitted.clear();
      joined = true;
      hasJoinedOnce = true;
      lastHeartbeatAt = elapsed();
      listener.onAssigned(partitions.map((partition) => ({ topic, partition })));
    });
    consumer.on(consumer.events.HEARTBEAT, () => {
      lastHeartbeatAt = elapsed();
    });
    consumer.on(consumer.events.STOP, () => {
      joined = false;
    });
    consumer.on(consumer.events.CRASH, ({ payload }: ConsumerCrashEvent) => {
      joined = false;
      if (payload.restart || stopping) return;
      const denial =
        findDenial(payload.error) === undefined ? undefined : toKafkaError(payload.error, rights);
      if (denial !== undefined && hasJoinedOnce) {
        listener.onDenied(denial);
        restartAfter(deniedRestartDelayMs, listener);
      } else if (isOutage(payload.error)) restartAfter(restartDelayMs, listener);
      else listener.onDied(denial ?? payload.error);
    });
  }

  function restartAfter(delayMs: number, listener: GroupListener): void {
    cancelRestart = schedule(delayMs, () => void consume(listener));
  }

  /** Never rejects: errors arrive as CRASH events. */
  const consume = (listener: GroupListener): Promise<void> =>
    consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: maxConcurrentPartitions,
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
      stopCommits = repeat(commitIntervalMs, () => void flushCommits());
    },
    isInGroup: () => joined && elapsed() - lastHeartbeatAt < sessionTimeoutMs,
    pause: ({ partition }) => {
      ifJoined(() => {
        consumer.pause([{ topic, partitions: [partition] }]);
      });
    },
    resume: ({ partition }) => {
      ifJoined(() => {
        consumer.resume([{ topic, partitions: [partition] }]);
      });
    },
    seek: ({ partition }, offset) => {
      ifJoined(() => {
        consumer.seek({ topic, partition, offset: String(offset) });
      });
    },
    commit({ partition }, offset) {
      if (commitsOffsets) uncommitted.set(partition, offset);
    },
    async stop() {
      stopping = true;
      stopCommits();
      cancelRestart();
      // During an outage, kafkajs retries the commit for more than a minute.
      await waitAtMost(commitTimeoutMs, flushCommits());
      // The broker may delay the response until killed members expire; there is no need to wait for it.
      await waitAtMost(leaveTimeoutMs, consumer.disconnect());
    },
  };
}

/** An error without a type of kafkajs 2.2.4: it uses a connection that broke while it was being set up (broker/index.js). */
const notConnected = "Broker not connected";

/**
 * Whether this is an outage, although kafkajs does not restart: no broker knew the group's coordinator, a connection broke
 * early, or was not set up in time. A member that joins again gets this error as the cause of another (kafkajs' retry/index.js).
 */
const isOutage = (error: unknown): boolean =>
  error instanceof Error &&
  (error instanceof kafkajs.KafkaJSGroupCoordinatorNotFound ||
    error instanceof kafkajs.KafkaJSLockTimeout ||
    error.message === notConnected ||
    isOutage(error.cause));

/** Set when a heartbeat failed: the rest of the batch must not be processed. */
interface HeartbeatState {
  error?: Error;
}

function toBatch(payload: EachBatchPayload, heartbeat: HeartbeatState): RecordBatch {
  const { batch } = payload;
  const end = Number(batch.lastOffset()) + 1;
  return {
    partition: { topic: batch.topic, partition: batch.partition },
    ...findOrigin(batch),
    records: batch.messages.map(toLogRecord),
    end,
    isAtEnd: end >= Number(batch.highWatermark),
    advance: (offset) => {
      payload.resolveOffset(String(offset));
    },
    async heartbeat() {
      try {
        await payload.heartbeat();
      } catch (error) {
        heartbeat.error = error instanceof Error ? error : new Error(getErrorMessage(error));
      }
      return heartbeat.error === undefined;
    },
    isCurrent: () => payload.isRunning() && !payload.isStale() && heartbeat.error === undefined,
  };
}
