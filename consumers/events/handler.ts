import { NotLoadedError, RejectionError, UnavailableError, type RejectionCode } from "@topicsync/lib/errors";
import { now } from "@topicsync/lib/platform";
import { withTimeout } from "@topicsync/lib/concurrency/timeout";
import type {
  EgressTopics,
  RoutedRecord,
  RoutingTransaction,
  RoutingTransactions,
  LogRecord,
  OutgoingRecord,
} from "@topicsync/kafka";
import type { Tracing } from "@topicsync/lib/tracing";
import { proveDeadLetters } from "../../src/dead-letters/proof.ts";
import type { LiveTopicIndex } from "../../src/topics/live/live-topic-index.ts";
import {
  chooseTarget,
  RoutePlan,
  toRoutedEvent,
  type FoundTopics,
  type RouteOptions,
} from "../../src/routing/plan.ts";
import { toRejections, type EventRejection } from "../../src/routing/rejections.ts";
import type { RoutedBatch } from "../../src/routing/tally.ts";
import type { BatchHandler, Step } from "../batch.ts";
import { tracePreparation, type BatchTrace } from "../batch-trace.ts";
import { sendRejected } from "../dead-letter-sender.ts";
import { createCopySender, type SendCopies } from "./copy-sender.ts";
import { decodeEvent, removeForgedHeaders, type Decoded } from "./decode.ts";
import { createPoisonWatch, type PoisonWatch } from "./poison-watch.ts";

export interface EventHandlerOptions extends Omit<RouteOptions, "getNamespace"> {
  readonly groupId: string;
  readonly index: Pick<
    LiveTopicIndex,
    "waitUntilLive" | "status" | "pickNow" | "countPicked" | "getNamespace" | "takeMissedTimes"
  >;
  readonly transactions: RoutingTransactions;
  readonly egressTopics: EgressTopics;
  readonly deadLetterTopic: string;
  /** Reads the key of the proofs of replays and dead letters. Throws UnavailableError. */
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

/** A batch of events with their topics. */
interface EventBatch {
  readonly records: readonly LogRecord[];
  /**
   * Undefined when the topics were not known. An error when the first event cannot be routed for no foreseen
   * reason.
   */
  readonly routes: Routes | Error | undefined;
  readonly trace: BatchTrace;
}

interface Routes {
  readonly plan: RoutePlan;
  /** Of records that are not forwarded anywhere. */
  readonly rejections: readonly EventRejection[];
}

/** What was forwarded, and what became a dead letter. */
interface Outcome {
  readonly forwarded: number;
  readonly rejections: readonly EventRejection[];
}

/**
 * Decode → pick → one Kafka transaction with the copies, the dead letters and the group's offset, for one
 * partition of the events topic.
 */
export function createEventHandler(options: EventHandlerOptions): BatchHandler<EventBatch, Outcome> {
  const { partition, groupId, index, transactions, egressTopics, tracing } = options;
  const poison = createPoisonWatch();
  const sendCopies = createCopySender(options);
  const counted = new CountedRange();
  /** Known once the partition is claimed. */
  let proofKey: Buffer | undefined;

  return {
    maxRecordsPerWrite,
    keepsPositionInKafka: true,
    findPosition: () => transactions.findPosition(),
    async claim() {
      await withTimeout(loadTimeoutMs, index.waitUntilLive(), () => createNotLoadedError(index));
      proofKey = await options.getProofKey();
      egressTopics.forget();
      return transactions.claim();
    },
    prepare(delivered, epoch) {
      const records = delivered.map((record) => removeForgedHeaders(record, partition, proofKey));
      return tracePreparation(tracing, { partition, groupId, records }, () =>
        route(records, epoch, { options, poison, counted }),
      );
    },
    async write(batch, step) {
      try {
        const outcome = await batch.trace.run(() => forward(batch, step, { options, sendCopies }));
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
        missedTimes: options.index.takeMissedTimes(),
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

/** The records of a partition that were counted: a batch that is repeated is not counted again. */
export class CountedRange {
  #epoch = 0;
  #start = 0;
  #end = 0;

  /** Returns whether the record was not counted before. */
  add(offset: number, epoch: number): boolean {
    const isSameLog = epoch === this.#epoch;
    if (isSameLog && offset >= this.#start && offset < this.#end) return false;
    if (!isSameLog || offset < this.#start) this.#start = offset;
    this.#epoch = epoch;
    this.#end = offset + 1;
    return true;
  }
}

interface RouteContext {
  readonly options: EventHandlerOptions;
  readonly poison: PoisonWatch;
  readonly counted: CountedRange;
}

/** Routes as many of the records as one transaction can take. */
function route(
  records: readonly LogRecord[],
  epoch: number,
  context: RouteContext,
): Pick<EventBatch, "records" | "routes"> {
  const { options } = context;
  const plan = new RoutePlan({ ...options, getNamespace: options.index.getNamespace });
  const rejections: EventRejection[] = [];
  const take = (count: number) => ({ records: records.slice(0, count), routes: { plan, rejections } });
  let taken = 0;
  for (const { record, decoded } of decodeInSteps(records, options.maxEventBytes)) {
    try {
      const added = addEvent(plan, record, decoded, epoch, context);
      if (added === "not loaded") return { records, routes: undefined };
      if (!added) return take(taken);
    } catch (error) {
      if (error instanceof RejectionError) rejections.push({ offset: record.offset, rejection: error });
      else if (taken > 0) return take(taken);
      else return { records: [record], routes: toError(error) };
    }
    taken += 1;
  }
  return { records, routes: { plan, rejections } };
}

/** Picking takes about a fifth less time for a few events in a row, whose topics stay in the caches. */
const decodedPerStep = 16;

function* decodeInSteps(records: readonly LogRecord[], maxBytes: number) {
  for (let start = 0; start < records.length; start += decodedPerStep)
    yield* records
      .slice(start, start + decodedPerStep)
      .map((record) => ({ record, decoded: decodeEvent(record, maxBytes) }));
}

/**
 * Adds the event of a record to the plan; false when it is too large for it. Throws a RejectionError, or an
 * unexpected one.
 */
function addEvent(
  plan: RoutePlan,
  record: LogRecord,
  decoded: Decoded,
  epoch: number,
  { options: { partition, index }, poison, counted }: RouteContext,
): boolean | "not loaded" {
  poison.check(record);
  if ("rejection" in decoded) throw decoded.rejection;
  const picked = index.pickNow(decoded.event, decoded.record);
  if (picked === undefined) return "not loaded";
  const isAdded = plan.add(toRoutedEvent(record, { partition, epoch, picked }));
  if (isAdded && counted.add(record.offset, epoch)) index.countPicked();
  return isAdded;
}

interface ForwardContext {
  readonly options: EventHandlerOptions;
  readonly sendCopies: SendCopies;
}

/** Throws UnavailableError, FencedError, or an unexpected error. */
async function forward(
  { routes, records, trace }: EventBatch,
  step: Step,
  { options, sendCopies }: ForwardContext,
): Promise<Outcome> {
  const { partition, index, egressTopics, deadLetterTopic } = options;
  if (routes === undefined) throw createNotLoadedError(index);
  if (routes instanceof Error) throw routes;
  trace.startStage("decide");
  const { plan } = routes;
  const found = await egressTopics.find([...plan.names, deadLetterTopic]);
  const isReachable = (name: string): boolean => typeof found.get(name) === "number";
  // Missed before anything is sent, since a transaction without a place for its dead letters is in vain.
  if (routes.rejections.length > 0 || plan.leavesOut || ![...plan.names].every(isReachable))
    getLetterPartitions(found, deadLetterTopic);

  trace.startStage("write");
  const { transaction, forwarded, undelivered } = await sendCopies(plan, found, step);
  const rejections = [...routes.rejections, ...toRejections(undelivered)];
  if (rejections.length > 0) {
    const letters = createDeadLetterSender(transaction, found, options);
    await sendRejected(letters, { partition, epoch: step.to.epoch, records, rejected: rejections });
  }
  trace.startStage("commit");
  await transaction.commit();
  return { forwarded, rejections };
}

/** Throws UnavailableError when there are none. */
function getLetterPartitions(found: FoundTopics, deadLetterTopic: string): number {
  const partitions = found.get(deadLetterTopic);
  if (typeof partitions === "number") return partitions;
  throw new UnavailableError(`the Kafka topic "${deadLetterTopic}" is missing: ${partitions?.reason ?? ""}`);
}

function createDeadLetterSender(
  transaction: RoutingTransaction,
  found: FoundTopics,
  options: EventHandlerOptions,
) {
  const { deadLetterTopic, getProofKey } = options;
  const partitions = getLetterPartitions(found, deadLetterTopic);
  const toRouted = (record: OutgoingRecord): RoutedRecord => ({
    ...record,
    topic: deadLetterTopic,
    partition: chooseTarget(record.key, partitions, options),
  });
  const send = (letters: readonly OutgoingRecord[]) => transaction.sendEach(letters.map(toRouted));
  return proveDeadLetters({ send }, { topic: deadLetterTopic, getProofKey });
}

const toError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

function createNotLoadedError(index: EventHandlerOptions["index"]): NotLoadedError {
  const { topicsRead = 0 } = index.status();
  return new NotLoadedError(`topics are being loaded: ${topicsRead} so far`);
}
