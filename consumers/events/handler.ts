import type { LiveTopicIndex } from "../../src/matching/live-topic-index.ts";
import { NotLoadedError, UnavailableError, type RejectionCode } from "../../src/lib/errors.ts";
import { withTimeout } from "../../src/lib/timeout.ts";
import { now } from "../../src/lib/platform.ts";
import {
  chooseTarget,
  planRoutes,
  toRejections,
  toRoutedEvent,
  type Copy,
  type EventRejection,
  type RoutedEvent,
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
export interface EventBatch {
  readonly records: readonly LogRecord[];
  /** Undefined when the topics were not known. */
  readonly routes: Routes | undefined;
  readonly trace: BatchTrace | undefined;
  /** Undefined before `write`. */
  outcome?: Outcome;
}

interface Routes {
  readonly events: readonly RoutedEvent[];
  readonly plan: RoutePlan;
  /** Of records that are no events. */
  readonly rejections: readonly EventRejection[];
}

interface Outcome {
  readonly forwarded: number;
  readonly rejections: readonly EventRejection[];
}

/**
 * Decode → pick → one Kafka transaction with the copies, the dead letters and the group's offset, for one partition of the
 * events topic.
 */
export function createEventHandler(options: EventHandlerOptions): BatchHandler<EventBatch> {
  const { partition, groupId, index, transactions, egressTopics, deadLetterTopic, tracing } = options;

  function route(records: readonly LogRecord[], epoch: number): Routes | undefined {
    const events: RoutedEvent[] = [];
    const rejections: EventRejection[] = [];
    for (const record of records) {
      const decoded = decodeEvent(record, options.maxEventBytes);
      if ("rejection" in decoded) {
        rejections.push({ offset: record.offset, rejection: decoded.rejection });
        continue;
      }
      const picked = index.pickNow(decoded.event);
      if (picked === undefined) return undefined;
      events.push(toRoutedEvent(record, { partition, epoch, picked }));
    }
    // At once: later, the index may have lost the namespaces of the topics.
    return { events, plan: planRoutes(events, { ...options, getNamespace: index.getNamespace }), rejections };
  }

  /** Throws UnavailableError and FencedError. */
  async function forward(batch: EventBatch, { from, to }: Step): Promise<Outcome> {
    const { routes, records, trace } = batch;
    if (routes === undefined) throw createNotLoadedError(index);
    trace?.startStage("decide");
    const { plan } = routes;
    const found = await egressTopics.find(plan.names);
    let undelivered: Undelivered[] = [];
    let forwarded = 0;

    function* copies(): Generator<Copy> {
      undelivered = [];
      forwarded = 0;
      for (const copy of plan.copies(found, (one) => void undelivered.push(one))) {
        forwarded += 1;
        yield copy;
      }
    }

    /** Kafka's response to a request does not say which of its records it rejects. */
    async function findRejected(): Promise<RoutingTransaction> {
      const claimed = await transactions.claim();
      if (claimed?.offset !== from?.offset) throw new FencedError("another process moved the position");
      const transaction = await transactions.begin(to);
      const sent = [...copies()];
      const results = await transaction.sendEach(sent);
      for (const [at, { event, externalId, topic }] of sent.entries()) {
        const result = results[at];
        if (result === undefined || !("rejection" in result)) continue;
        forwarded -= 1;
        const message = `the Kafka topic "${topic}" rejects it: ${result.rejection.message}`;
        undelivered.push({ event, externalId, code: "EGRESS_REJECTED", message });
      }
      return transaction;
    }

    async function sendCopies(): Promise<RoutingTransaction> {
      const transaction = await transactions.begin(to);
      try {
        await transaction.sendAll(copies());
        return transaction;
      } catch (error) {
        if (!(error instanceof RecordRejectedError)) throw error;
        return findRejected();
      }
    }

    trace?.startStage("write");
    const transaction = await sendCopies();
    const rejections = [...routes.rejections, ...toRejections(undelivered)];
    if (rejections.length > 0) {
      const letters = await createDeadLetterSender(transaction);
      await sendRejected(letters, { partition, epoch: to.epoch, records, rejected: rejections });
    }
    trace?.startStage("commit");
    await transaction.commit();
    batch.outcome = { forwarded, rejections };
    return batch.outcome;
  }

  async function createDeadLetterSender(transaction: RoutingTransaction) {
    const partitions = (await egressTopics.find([deadLetterTopic])).get(deadLetterTopic);
    if (typeof partitions !== "number")
      throw new UnavailableError(`the Kafka topic "${deadLetterTopic}" is missing: ${partitions ?? ""}`);
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
      egressTopics.forget();
      return transactions.claim();
    },
    prepare(records, epoch) {
      const trace = traceBatch(tracing, { partition, groupId, records });
      trace?.startStage("decode");
      const routes = route(records, epoch);
      trace?.endStage();
      return { records, routes, trace };
    },
    async write(batch, step) {
      const { trace } = batch;
      await (trace === undefined ? forward(batch, step) : trace.run(() => forward(batch, step)));
    },
    report({ records, routes, outcome }, tookMs) {
      // Without an outcome, an earlier attempt was committed, although its response was lost.
      if (routes === undefined || outcome === undefined) return;
      options.routed({
        events: routes.events,
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

function createNotLoadedError(index: EventHandlerOptions["index"]): NotLoadedError {
  const { topicsRead = 0 } = index.status();
  return new NotLoadedError(`topics are being loaded: ${topicsRead} so far`);
}
