import { getErrorMessage, type RejectionError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { now } from "@topicsync/lib/platform";
import { Turns } from "@topicsync/lib/concurrency/turns";
import {
  BatchConflictError,
  type BatchStore,
  type PositionKey,
  type LogRecord,
  type Partition,
  type RecordProducer,
} from "@topicsync/kafka";
import type { Tracing } from "@topicsync/lib/tracing";
import { storeBatch, type BatchHandler, type Step } from "./batch.ts";
import { tracePreparation, type BatchTrace } from "./batch-trace.ts";
import { sendRejected } from "./dead-letter-sender.ts";

/** What a batch of records writes, and which of them it rejects. */
export interface BatchDecision<Writes = unknown> {
  readonly writes: Writes;
  readonly rejections: readonly { readonly offset: number; readonly rejection: RejectionError }[];
  /** How many records had each outcome. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface StoredBatch<Decision extends BatchDecision> {
  readonly decision: Decision;
  readonly records: readonly LogRecord[];
  /** In milliseconds since 1970. */
  readonly storedOn: number;
  /** How long looking up, deciding and writing took, in milliseconds. */
  readonly tookMs: number;
}

/** How one kind of records is decoded and decided. */
interface BatchRules<Decoded, Decision> {
  readonly maxRecordsPerWrite?: number;
  /** How often a batch is decided that conflicts with stored data; once by default. */
  readonly maxAttempts?: number;
  readonly decode: (record: LogRecord) => Decoded;
  /** Decides before the previous batch is stored. Returns undefined for a batch that needs stored data. */
  readonly decideAhead?: (decoded: readonly Decoded[], epoch: number) => Decision | undefined;
  /** `conflicts` counts the earlier decisions on this batch that conflicted. Throws UnavailableError. */
  readonly decide: (decoded: readonly Decoded[], epoch: number, conflicts: number) => Promise<Decision>;
}

/** Where batches go. */
export interface BatchOutputs<Decision extends BatchDecision> {
  readonly groupId: string;
  readonly store: Pick<BatchStore<Decision["writes"]>, "claim" | "findPosition" | "begin" | "getPrimary">;
  readonly deadLetters: Pick<RecordProducer, "send">;
  /** Called with each batch that is stored. */
  readonly applied: (batch: StoredBatch<Decision>) => void;
  readonly tracing: Tracing | undefined;
  readonly log: Logger;
}

export interface DecodedBatch<Decoded, Decision> {
  readonly records: readonly LogRecord[];
  readonly decoded: readonly Decoded[];
  readonly epoch: number;
  readonly trace: BatchTrace;
  /** What was decided ahead; undefined for a batch that needs stored data. */
  readonly ahead: Decision | undefined;
}

/** Thousands of hostile filters would take seconds; the usual records of a batch take less than this. */
const maxDecodingMs = 50;
/** The costliest filters take 2 ms each. On a busy machine smaller batches would only make it busier. */
const minDecoded = 100;

/** Decodes as many records as one turn of the event loop may take. */
function decodeInTime<Decoded>(
  records: readonly LogRecord[],
  decode: (record: LogRecord) => Decoded,
): Decoded[] {
  const turns = new Turns(maxDecodingMs);
  const decoded: Decoded[] = [];
  for (const record of records) {
    if (decoded.length >= minDecoded && turns.isOver()) break;
    decoded.push(decode(record));
  }
  return decoded;
}

/**
 * Decode → decide → write → check the position → dead letters → commit, for one partition of a Kafka topic
 * whose records change MongoDB. A batch that needs no stored data is decided while the previous one is being
 * written.
 */
export function createBatchHandler<Decoded, Decision extends BatchDecision>(
  partition: Partition,
  { maxRecordsPerWrite, maxAttempts = 1, decode, decideAhead, decide }: BatchRules<Decoded, Decision>,
  { groupId, store, deadLetters, applied, tracing, log }: BatchOutputs<Decision>,
): BatchHandler<DecodedBatch<Decoded, Decision>, Decision> {
  const key: PositionKey = { group: groupId, ...partition };

  /** Decides and stores a batch, and decides it again on newer data after a conflict with stored data. */
  async function apply(
    batch: DecodedBatch<Decoded, Decision>,
    { from, to }: Step,
    onAttempt: (decision: Decision) => void,
  ): Promise<Decision> {
    const { records, decoded, trace } = batch;
    let conflict: unknown;
    let ahead = batch.epoch === to.epoch ? batch.ahead : undefined;
    for (let conflicts = 0; conflicts < maxAttempts;) {
      trace.startStage("decide");
      const primary = ahead === undefined ? store.getPrimary() : undefined;
      const decision = ahead ?? (await decide(decoded, to.epoch, conflicts));
      onAttempt(decision);
      const { writes, rejections: rejected } = decision;
      const sendDeadLetters =
        rejected.length === 0
          ? undefined
          : () => sendRejected(deadLetters, { partition, epoch: to.epoch, records, rejected });
      try {
        await storeBatch(store, { key, from, to, primary }, { writes, sendDeadLetters, trace });
        return decision;
      } catch (error) {
        if (!(error instanceof BatchConflictError)) throw error;
        conflict = error;
      }
      // The previous batch may have shown how much has to be looked up since this one was decided ahead.
      if (ahead === undefined) conflicts += 1;
      ahead = undefined;
    }
    const start = from?.offset ?? 0;
    throw new Error(
      `the batch at offset ${start} conflicted with stored data ${maxAttempts} times: ${getErrorMessage(conflict)}`,
      { cause: conflict },
    );
  }

  return {
    ...(maxRecordsPerWrite !== undefined && { maxRecordsPerWrite }),
    claim: () => store.claim(key),
    findPosition: () => store.findPosition(key),
    prepare: (delivered, epoch) =>
      tracePreparation(tracing, { partition, groupId, records: delivered }, () => {
        const decoded = decodeInTime(delivered, decode);
        const records = delivered.slice(0, decoded.length);
        return { records, decoded, epoch, ahead: decideAhead?.(decoded, epoch) };
      }),
    write: (batch, step, onAttempt) => batch.trace.run(() => apply(batch, step, onAttempt)),
    report({ records }, decision, tookMs) {
      if (decision === undefined) return;
      applied({ decision, records, storedOn: now(), tookMs });
      log.debug({ partition: partition.partition, ...decision.counts }, "batch applied");
    },
  };
}
