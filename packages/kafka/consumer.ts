import type { Consumer, EachBatchPayload } from "kafkajs";

import { getErrorMessage } from "@topicsync/lib/errors";
import { invariant } from "@topicsync/lib/invariant";
import type { Logger } from "@topicsync/lib/logger";
import { elapsed, repeat, schedule, type Cancel } from "@topicsync/lib/platform";
import { waitAtMost } from "@topicsync/lib/concurrency/timeout";
import type { GroupListener, GroupMember, Partition, RecordBatch } from "./interface/records.ts";
import { findDenial, quoteGroup, quoteTopic, toKafkaError, type Rights } from "./errors.ts";
import { findJoinFault, isMemberOutage } from "./member-errors.ts";
import { fetchApiKey } from "./protocol/fetch.ts";
import { toLogRecord } from "./record-format/batch-reader.ts";
import type { KafkaClient } from "./sockets.ts";
import { throwGroupDenials } from "./workarounds/clusters.ts";
import { findOrigin } from "./workarounds/fetches.ts";

/** A topic, and the consumer group that reads it. */
export interface ReaderSettings {
  readonly topic: string;
  readonly groupId: string;
}

export interface MemberSettings extends ReaderSettings {
  /** Whether `commit` commits offsets. */
  readonly commitsOffsets: boolean;
}

interface MemberOptions extends MemberSettings {
  /** Undefined: the leader is read. */
  readonly rack?: string | undefined;
  readonly log: Logger;
}

const commitIntervalMs = 1_000;
/** The wait is short, so that an idle consumer stops quickly. A new record ends it at once. */
const fetchWaitMs = 500;
const maxConcurrentPartitions = 8;
/** How soon partitions that were added to the topic are noticed; kafkajs' default is five minutes. */
const metadataMaxAgeMs = 10_000;
/** How long a killed member keeps its partitions, which nobody reads during that time. */
const sessionTimeoutMs = 10_000;
const heartbeatIntervalMs = 2_000;
const commitTimeoutMs = 2_000;
const leaveTimeoutMs = 5_000;
const restartDelayMs = 1_000;
/** This delay is longer, because the broker logs an error for each attempt without the right. */
const deniedRestartDelayMs = 5_000;

/** The kafkajs consumer runs outside the group while it joins, and after a crash until it is restarted. */
type Mode =
  | { readonly kind: "outside"; readonly cancelRestart?: Cancel }
  | {
      readonly kind: "joined";
      readonly assigned: ReadonlySet<number>;
      /** Offsets to commit, by partition. They stay until a commit has succeeded. */
      readonly uncommitted: Map<number, number>;
      lastHeartbeatAt: number;
    };

/**
 * A member of a consumer group.
 *
 * Invariant: only partitions of the current assignment are sought and resumed. A reader of a partition that
 * was taken away may still pause it, which has no effect.
 */
export class KafkaMember implements GroupMember {
  readonly #options: MemberOptions;
  readonly #consumer: Consumer;
  readonly #rights: Rights;
  #mode: Mode = { kind: "outside" };
  #hasJoinedOnce = false;
  /** Prevents that kafkajs restarts a member that is stopped while it joins. */
  #isStopping = false;
  #stopCommits: Cancel = () => undefined;
  /** The commit in progress. kafkajs repeats a commit for more than a minute. */
  #committing: Promise<void> | undefined;

  constructor({ kafka, dropConnection }: KafkaClient, options: MemberOptions) {
    const { groupId, topic, rack } = options;
    this.#options = options;
    this.#rights = {
      TOPIC_AUTHORIZATION_FAILED: `Read on ${quoteTopic(topic)}`,
      GROUP_AUTHORIZATION_FAILED: `Read on ${quoteGroup(groupId)}`,
    };
    throwGroupDenials(kafka);
    this.#consumer = kafka.consumer({
      groupId,
      allowAutoTopicCreation: false,
      ...(rack !== undefined && { rackId: rack }),
      maxWaitTimeInMs: fetchWaitMs,
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
      metadataMaxAge: metadataMaxAgeMs,
      // kafkajs retries forever: an outage must not end the process.
      retry: {
        initialRetryTime: 300,
        maxRetryTime: 1_000,
        retries: 5,
        restartOnFailure: () => Promise.resolve(!this.#isStopping),
      },
    });
    this.#consumer.on(this.#consumer.events.REQUEST_TIMEOUT, dropConnection);
  }

  async run(listener: GroupListener): Promise<void> {
    try {
      await this.#consumer.connect();
      await this.#consumer.subscribe({ topics: [this.#options.topic], fromBeginning: true });
    } catch (error) {
      throw toKafkaError(error, this.#rights);
    }
    // Stopped while it connected: what `stop` disconnected may be connected again.
    if (this.#isStopping) return this.#consumer.disconnect();
    this.#listen(listener);
    await this.#consume(listener);
    this.#startCommits();
  }

  isInGroup(): boolean {
    return this.#mode.kind === "joined" && elapsed() - this.#mode.lastHeartbeatAt < sessionTimeoutMs;
  }

  pause({ partition }: Partition): void {
    if (this.#mode.kind === "joined" && this.#mode.assigned.has(partition))
      this.#consumer.pause([this.#select(partition)]);
  }

  resume({ partition }: Partition): void {
    if (this.#isAssigned(partition)) this.#consumer.resume([this.#select(partition)]);
  }

  seek({ partition }: Partition, offset: number): void {
    if (!this.#isAssigned(partition)) return;
    this.#consumer.seek({ topic: this.#options.topic, partition, offset: String(offset) });
  }

  commit({ partition }: Partition, offset: number): void {
    if (this.#options.commitsOffsets && this.#mode.kind === "joined")
      this.#mode.uncommitted.set(partition, offset);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopCommits();
    if (this.#mode.kind === "outside") this.#mode.cancelRestart?.();
    await waitAtMost(commitTimeoutMs, (this.#committing ?? Promise.resolve()).then(this.#flushCommits));
    // The broker may delay the response until killed members expire; there is no need to wait for it.
    await waitAtMost(leaveTimeoutMs, this.#consumer.disconnect());
  }

  /**
   * Returns false outside the group, where kafkajs throws. Skipping a request is safe then: after the next
   * join the listener starts over.
   */
  #isAssigned(partition: number): boolean {
    if (this.#mode.kind === "outside") return false;
    invariant(this.#mode.assigned.has(partition), "a member seeks and resumes only its own partitions");
    return true;
  }

  #select(partition: number): { readonly topic: string; readonly partitions: number[] } {
    return { topic: this.#options.topic, partitions: [partition] };
  }

  /** Never rejects, because errors arrive as CRASH events. */
  #consume(listener: GroupListener): Promise<void> {
    return this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: maxConcurrentPartitions,
      eachBatch: (payload) => this.#passBatch(payload, listener),
    });
  }

  #listen(listener: GroupListener): void {
    const { events } = this.#consumer;
    this.#consumer.on(events.GROUP_JOIN, ({ payload }) => {
      this.#join(payload.memberAssignment[this.#options.topic] ?? [], listener);
    });
    this.#consumer.on(events.HEARTBEAT, () => {
      if (this.#mode.kind === "joined") this.#mode.lastHeartbeatAt = elapsed();
    });
    // The event FETCH also occurs for brokers that lead none of the partitions, and are not asked.
    this.#consumer.on(events.REQUEST, ({ payload }) => {
      if (payload.apiKey === fetchApiKey) listener.onFetched?.();
    });
    this.#consumer.on(events.STOP, () => {
      this.#leave();
    });
    this.#consumer.on(events.CRASH, ({ payload }) => {
      this.#leave();
      if (!payload.restart && !this.#isStopping) this.#handleCrash(payload.error, listener);
    });
  }

  #join(partitions: readonly number[], listener: GroupListener): void {
    // kafkajs reports a join that ends after the member was stopped, and then has no group to seek in.
    if (this.#isStopping) return;
    this.#mode = {
      kind: "joined",
      assigned: new Set(partitions),
      uncommitted: new Map(),
      lastHeartbeatAt: elapsed(),
    };
    this.#hasJoinedOnce = true;
    listener.onAssigned(partitions.map((partition) => ({ topic: this.#options.topic, partition })));
  }

  #leave(): void {
    if (this.#mode.kind === "joined") this.#mode = { kind: "outside" };
  }

  /** kafkajs does not restart the member after this error. */
  #handleCrash(error: Error, listener: GroupListener): void {
    const denial = findDenial(error) === undefined ? undefined : toKafkaError(error, this.#rights);
    if (denial !== undefined && this.#hasJoinedOnce) {
      listener.onDenied(denial);
      this.#restartAfter(deniedRestartDelayMs, listener);
      return;
    }
    const fault = denial ?? (this.#hasJoinedOnce ? undefined : findJoinFault(error, sessionTimeoutMs));
    if (fault === undefined && isMemberOutage(error)) this.#restartAfter(restartDelayMs, listener);
    else listener.onDied(fault ?? error);
  }

  #restartAfter(delayMs: number, listener: GroupListener): void {
    const cancelRestart = schedule(delayMs, () => void this.#consume(listener));
    this.#mode = { kind: "outside", cancelRestart };
  }

  async #passBatch(payload: EachBatchPayload, listener: GroupListener): Promise<void> {
    const heartbeat: HeartbeatState = {};
    const batch = toBatch(payload, heartbeat);
    const partition = `${this.#options.topic}-${batch.partition.partition}`;
    for (const { skippedBatch } of batch.records)
      if (skippedBatch !== undefined)
        this.#options.log.warn({ partition, ...skippedBatch }, "batch rejected unread");
    await listener.onBatch(batch);
    // The applied records are stored. On this error, kafkajs joins the group again.
    if (heartbeat.error !== undefined) throw heartbeat.error;
  }

  /** Unless the member was stopped while it joined. */
  #startCommits(): void {
    if (!this.#isStopping) this.#stopCommits = repeat(commitIntervalMs, () => void this.#flushCommits());
  }

  readonly #flushCommits = (): Promise<void> => {
    this.#committing ??= this.#commitOffsets().finally(() => {
      this.#committing = undefined;
    });
    return this.#committing;
  };

  async #commitOffsets(): Promise<void> {
    if (this.#mode.kind === "outside" || this.#mode.uncommitted.size === 0) return;
    const { uncommitted } = this.#mode;
    const committed = [...uncommitted];
    const offsets = committed.map(([partition, offset]) => ({
      topic: this.#options.topic,
      partition,
      offset: String(offset),
    }));
    try {
      // Positions are stored in the database; committed offsets are for lag monitoring only.
      await this.#consumer.commitOffsets(offsets);
      for (const [partition, offset] of committed)
        if (uncommitted.get(partition) === offset) uncommitted.delete(partition);
    } catch (error) {
      this.#options.log.debug({ reason: getErrorMessage(error) }, "offset commit failed");
    }
  }
}

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
