import type { LiveTopicIndex } from "../../src/matching/live-topic-index.ts";
import {
  ConfigurationError,
  getErrorMessage,
  NotLoadedError,
  RejectionError,
  UnavailableError,
  type RejectionCode,
} from "../../src/lib/errors.ts";
import { isProvenReplay } from "../../src/dead-letters/replay-proof.ts";
import { withTimeout } from "../../src/lib/timeout.ts";
import { elapsed, now } from "../../src/lib/platform.ts";
import {
  chooseTarget,
  createRoutePlan,
  toRejections,
  toRoutedEvent,
  type Copy,
  type EventRejection,
  type RouteOptions,
  type RoutePlan,
  type Undelivered,
} from "../../src/routing/plan.ts";
import {
  RecordRejectedError,
  type EgressTopics,
  type RoutedRecord,
  type RoutingTransaction,
  type RoutingTransactions,
} from "../../src/routing/transactions.ts";
import type { RoutedBatch } from "../../src/routing/tally.ts";
import { FencedError } from "../../src/sync/positions.ts";
import type { LogRecord, OutgoingRecord } from "../../src/sync/records.ts";
import type { Tracing } from "../../src/tracing/tracing.ts";
import type { BatchHandler, Step } from "../batch.ts";
import { traceBatch, type BatchTrace } from "../batch-trace.ts";
import { sendRejected } from "../dead-letter-sender.ts";
import { decodeEvent } from "./decode.ts";

export interface EventHandlerOptions extends Omit<RouteOptions, "getNamespace"> {
  readonly groupId: string;
  readonly index: Pick<LiveTopicIndex, "waitUntilLive" | "status" | "pickNow" | "getNamespace">;
  readonly transactions: RoutingTransactions;
  readonly egressTopics: EgressTopics;
  readonly deadLetterTopic: string;
  /** Reads the key of the proofs of replays. Throws UnavailableError. */
  readonly getProofKey: () => Promise<Buffer>;
  /** The size of the largest value that is read. */
  readonly maxEventBytes: number;
  /** Called with each batch that is forwarded. */
  readonly routed: (batch: RoutedBatch) => void;
  readonly tracing: Tracing | undefined;
}

/** Each transaction costs the broker as much as hundreds of records. */
const maxRecordsPerWrite = 4_000;

/** After it, the status says how far loading the topics has come. */
const loadTimeoutMs = 3_000;

/** How long copies for a Kafka topic that rejected one are sent in requests of their own. */
const suspicionMs = 60_000;

/** After so many identical failures for no foreseen reason, an event that is alone in its batch becomes a dead letter. */
const maxUnexpectedFailures = 5;

/** A batch of events with their topics. */
export interface EventBatch {
  readonly records: readonly LogRecord[];
  /** Undefined when the topics were not known. An error when the first event cannot be routed for no foreseen reason. */
  readonly routes: Routes | Error | undefined;
  readonly trace: BatchTrace;
}

interface Routes {
  readonly plan: RoutePlan;
  /** Of records that are not forwarded anywhere. */
  readonly rejections: readonly EventRejection[];
}

/** What was forwarded, and what became a dead letter. */
export interface Outcome {
  readonly forwarded: number;
  readonly rejections: readonly EventRejection[];
}

/** What a transaction has sent, and what it could not send. */
interface Sent {
  readonly transaction: RoutingTransaction;
  readonly forwarded: number;
  readonly undelivered: readonly Undelivered[];
}

/**
 * Decode → pick → one Kafka transaction with the copies, the dead letters and the group's offset, for one partition of the
 * events topic.
 */
export function createEventHandler(options: EventHandlerOptions): BatchHandler<EventBatch, Outcome> {
  const { partition, groupId, index, transactions, egressTopics, deadLetterTopic, tracing } = options;
  const poison = createPoisonWatch();
  /** Known once the partition is claimed. */
  let proofKey: Buffer | undefined;
  /** Kafka topics that rejected a record, and until when that counts. */
  const suspects = new Map<string, number>();

  const isSuspect = (topic: string): boolean => (suspects.get(topic) ?? -Infinity) > elapsed();

  /** Without headers of ours, unless we have written them. */
  function removeForgedHeaders(record: LogRecord): LogRecord {
    const { headers } = record;
    const names = Object.keys(headers);
    if (!names.some(isOwnHeader)) return record;
    if (proofKey !== undefined && isProvenReplay(proofKey, partition.topic, record)) return record;
    const others = Object.entries(headers).filter(([name]) => !isOwnHeader(name));
    return { ...record, headers: Object.fromEntries(others) };
  }

  /** Adds the event of a record to the plan; false when it is too large for it. Throws a RejectionError, or an unexpected one. */
  function addEvent(plan: RoutePlan, record: LogRecord, epoch: number): boolean | "not loaded" {
    poison.check(record);
    const decoded = decodeEvent(record, options.maxEventBytes);
    if ("rejection" in decoded) throw decoded.rejection;
    const picked = index.pickNow(decoded.event);
    if (picked === undefined) return "not loaded";
    return plan.add(toRoutedEvent(record, { partition, epoch, picked }));
  }

  /** Routes as many of the records as one transaction can take. */
  function route(records: readonly LogRecord[], epoch: number): Pick<EventBatch, "records" | "routes"> {
    const plan = createRoutePlan({ ...options, getNamespace: index.getNamespace });
    const rejections: EventRejection[] = [];
    const take = (count: number) => ({ records: records.slice(0, count), routes: { plan, rejections } });
    for (const [at, record] of records.entries()) {
      try {
        const added = addEvent(plan, record, epoch);
        if (added === "not loaded") return { records, routes: undefined };
        if (!added) return take(at);
      } catch (error) {
        if (error instanceof RejectionError) rejections.push({ offset: record.offset, rejection: error });
        else if (at > 0) return take(at);
        else return { records: [record], routes: toError(error) };
      }
    }
    return { records, routes: { plan, rejections } };
  }

  /** Throws UnavailableError, FencedError, or an unexpected error. */
  async function forward(batch: EventBatch, step: Step): Promise<Outcome> {
    const { routes, records, trace } = batch;
    if (routes === undefined) throw createNotLoadedError(index);
    if (routes instanceof Error) throw routes;
    trace.startStage("decide");
    const { plan } = routes;
    const found = await egressTopics.find([...plan.names, deadLetterTopic]);
    const isReachable = (name: string): boolean => typeof found.get(name) === "number";
    // Missed before anything is sent, since a transaction without a place for its dead letters is in vain.
    if (routes.rejections.length > 0 || ![...plan.names].every(isReachable)) getLetterPartitions(found);

    trace.startStage("write");
    const { transaction, forwarded, undelivered } = await sendCopies(plan, found, step);
    const rejections = [...routes.rejections, ...toRejections(undelivered)];
    if (rejections.length > 0) {
      const letters = createDeadLetterSender(transaction, getLetterPartitions(found));
      await sendRejected(letters, { partition, epoch: step.to.epoch, records, rejected: rejections });
    }
    trace.startStage("commit");
    await transaction.commit();
    return { forwarded, rejections };
  }

  async function sendCopies(plan: RoutePlan, found: FoundTopics, { from, to }: Step): Promise<Sent> {
    let undelivered: Undelivered[] = [];
    let forwarded = 0;

    /** Yields the copies, except those that are held back. */
    function* copies(held?: Copy[]): Generator<Copy> {
      undelivered = [];
      forwarded = 0;
      for (const copy of plan.copies(found, (one) => void undelivered.push(one))) {
        forwarded += 1;
        if (held !== undefined && isSuspect(copy.topic)) held.push(copy);
        else yield copy;
      }
    }

    async function sendEach(transaction: RoutingTransaction, sent: readonly Copy[]): Promise<Sent> {
      const results = sent.length === 0 ? [] : await transaction.sendEach(sent);
      for (const [at, { event, externalId, topic }] of sent.entries()) {
        const result = results[at];
        if (result === undefined || !("rejection" in result)) continue;
        const { reason, message } = result.rejection;
        forwarded -= 1;
        undelivered.push({ event, externalId, topic, code: "EGRESS_REJECTED", reason: message });
        if (reason === "denied") egressTopics.deny(topic, message);
        else suspects.set(topic, elapsed() + suspicionMs);
      }
      return { transaction, forwarded, undelivered };
    }

    const transaction = await transactions.begin(to);
    const held: Copy[] = [];
    try {
      await transaction.sendAll(copies(held));
    } catch (error) {
      if (!(error instanceof RecordRejectedError)) throw error;
      // Kafka's response does not say which record it rejects, and the transaction is lost.
      const claimed = await transactions.claim();
      if (claimed?.offset !== from?.offset) throw new FencedError("another process moved the position");
      return sendEach(await transactions.begin(to), [...copies()]);
    }
    return sendEach(transaction, held);
  }

  /** Throws UnavailableError when there are none. */
  function getLetterPartitions(found: FoundTopics): number {
    const partitions = found.get(deadLetterTopic);
    if (typeof partitions === "number") return partitions;
    throw new UnavailableError(
      `the Kafka topic "${deadLetterTopic}" is missing: ${partitions?.reason ?? ""}`,
    );
  }

  function createDeadLetterSender(transaction: RoutingTransaction, partitions: number) {
    const toRouted = (record: OutgoingRecord): RoutedRecord => ({
      ...record,
      topic: deadLetterTopic,
      partition: chooseTarget(record.key, partitions, options),
    });
    return { send: (letters: readonly OutgoingRecord[]) => transaction.sendEach(letters.map(toRouted)) };
  }

  return {
    maxRecordsPerWrite,
    async claim() {
      await withTimeout(loadTimeoutMs, index.waitUntilLive(), () => createNotLoadedError(index));
      proofKey = await options.getProofKey();
      egressTopics.forget();
      return transactions.claim();
    },
    prepare(delivered, epoch) {
      const records = delivered.map(removeForgedHeaders);
      const begun = traceBatch(tracing, { partition, groupId, records });
      begun.startStage("decode");
      const routed = route(records, epoch);
      begun.endStage();
      const isWhole = routed.records.length === records.length;
      const trace = isWhole ? begun : traceBatch(tracing, { partition, groupId, records: routed.records });
      return { ...routed, trace };
    },
    async write(batch, step) {
      try {
        const outcome = await batch.trace.run(() => forward(batch, step));
        poison.reset();
        return outcome;
      } catch (error) {
        poison.onFailure(batch.records, error);
        throw error;
      }
    },
    report({ records, routes }, outcome, tookMs) {
      // Without an outcome, an earlier attempt was committed, although its response was lost.
      if (routes === undefined || routes instanceof Error || outcome === undefined) return;
      const { events, unroutable } = routes.plan;
      options.routed({
        events,
        unroutable,
        forwarded: outcome.forwarded,
        rejected: outcome.rejections.map(({ rejection }): RejectionCode => rejection.code),
        producedOn: records.map(({ timestamp }) => Number(timestamp)),
        routedOn: now(),
        tookMs,
      });
    },
    close: () => transactions.close(),
  };
}

const isOwnHeader = (name: string): boolean => name.startsWith("topicsync.");

type FoundTopics = Awaited<ReturnType<EgressTopics["find"]>>;

const toError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** Finds the event that fails again and again although Kafka responds and denies nothing. */
function createPoisonWatch() {
  const nothing = { offset: -1, message: "", count: 0 };
  let last = nothing;
  return {
    reset(): void {
      last = nothing;
    },
    /** Throws a RejectionError if it is the record that failed too often. */
    check({ offset }: LogRecord): void {
      if (offset !== last.offset || last.count < maxUnexpectedFailures) return;
      throw new RejectionError("UNEXPECTED_ERROR", `The event cannot be forwarded: ${last.message}`);
    },
    onFailure([record, ...others]: readonly LogRecord[], error: unknown): void {
      const isForeseen =
        error instanceof UnavailableError ||
        error instanceof FencedError ||
        error instanceof ConfigurationError;
      if (isForeseen || record === undefined || others.length > 0) return;
      const { offset } = record;
      const message = getErrorMessage(error);
      const isSame = last.offset === offset && last.message === message;
      last = { offset, message, count: isSame ? last.count + 1 : 1 };
    },
  };
}

function createNotLoadedError(index: EventHandlerOptions["index"]): NotLoadedError {
  const { topicsRead = 0 } = index.status();
  return new NotLoadedError(`topics are being loaded: ${topicsRead} so far`);
}
