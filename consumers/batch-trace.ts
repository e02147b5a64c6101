import { UnavailableError, type RejectionError } from "@topicsync/lib/errors";
import { FencedError, getHeader, getHeaderText, type LogRecord, type Partition } from "@topicsync/kafka";
import { isSampled, createClock, type SpanContext, type Stage, type Tracing } from "@topicsync/lib/tracing";

/** The stages of a batch, for the traces of its records. */
export interface BatchTrace {
  /** Starts a stage of the batch, and ends the current one. */
  startStage(stage: Stage): void;
  /** Ends the current stage: the batch waits for the previous one. */
  endStage(): void;
  /** Applies the batch, and records its spans once it succeeded or failed. */
  run<Applied extends Outcome>(apply: () => Promise<Applied>): Promise<Applied>;
}

/** The outcome of a batch, as far as traces show it. */
interface Outcome {
  readonly rejections: readonly { readonly offset: number; readonly rejection: RejectionError }[];
}

interface TracedBatch {
  readonly partition: Partition;
  readonly groupId: string;
  readonly records: readonly LogRecord[];
}

interface TracedRecord {
  readonly record: LogRecord;
  readonly parent: SpanContext;
}

interface TimedStage {
  readonly name: Stage;
  readonly startedAt: number;
  endedAt: number;
}

/** Records of a batch that show its stages, which are the same for all; the others link to the first. */
const maxRecordsWithStages = 20;

/** The trace of a batch that is not traced: nothing is measured. */
export const noTrace: BatchTrace = {
  startStage: () => undefined,
  endStage: () => undefined,
  run: (apply) => apply(),
};

/**
 * Begins the trace of a batch. Returns `noTrace` when none of its records carries a `traceparent` of a
 * sampled trace. See docs/decisions/006.
 */
export function traceBatch(tracing: Tracing | undefined, batch: TracedBatch): BatchTrace {
  const traced = tracing === undefined ? [] : findTraced(batch.records, tracing);
  return tracing === undefined || traced.length === 0 ? noTrace : createTrace(tracing, batch, traced);
}

/** Prepares records, which counts as decoding. The trace is that of the records which were taken. */
export function tracePreparation<Prepared extends Pick<TracedBatch, "records">>(
  tracing: Tracing | undefined,
  batch: TracedBatch,
  prepare: () => Prepared,
): Prepared & { readonly trace: BatchTrace } {
  const begun = traceBatch(tracing, batch);
  begun.startStage("decode");
  const prepared = prepare();
  begun.endStage();
  const { records } = prepared;
  const isWhole = records.length === batch.records.length;
  return { ...prepared, trace: isWhole ? begun : traceBatch(tracing, { ...batch, records }) };
}

function createTrace(tracing: Tracing, batch: TracedBatch, traced: readonly TracedRecord[]): BatchTrace {
  const now = createClock();
  const stages: TimedStage[] = [];

  function endStage(at = now()): void {
    const last = stages.at(-1);
    if (last !== undefined && Number.isNaN(last.endedAt)) last.endedAt = at;
  }

  function record(rejections: Outcome["rejections"], failure?: string): void {
    endStage();
    const rejected = new Map(rejections.map(({ offset, rejection }) => [offset, rejection.code]));
    const getError = ({ offset }: LogRecord) => failure ?? rejected.get(offset);
    recordSpans(tracing, { ...batch, traced, stages, failure, getError });
  }

  return {
    startStage(name) {
      const startedAt = now();
      endStage(startedAt);
      stages.push({ name, startedAt, endedAt: NaN });
    },
    endStage() {
      endStage();
    },
    async run(apply) {
      const applied = await apply().catch((error: unknown) => {
        record([], toErrorCode(error));
        throw error;
      });
      record(applied.rejections);
      return applied;
    },
  };
}

function findTraced(records: readonly LogRecord[], tracing: Tracing): TracedRecord[] {
  const traced: TracedRecord[] = [];
  for (const record of records) {
    if (getHeader(record.headers, "traceparent") === undefined) continue;
    const parent = tracing.extractContext((name) => getHeaderText(record.headers, name));
    if (parent !== undefined && isSampled(parent)) traced.push({ record, parent });
  }
  return traced;
}

interface MeasuredBatch extends TracedBatch {
  readonly traced: readonly TracedRecord[];
  readonly stages: readonly TimedStage[];
  /** Why the batch as a whole failed. */
  readonly failure: string | undefined;
  readonly getError: (record: LogRecord) => string | undefined;
}

/** Records a span for each traced record, in its own trace, and within it the stages of the batch. */
function recordSpans(tracing: Tracing, { traced, stages, failure, getError, ...batch }: MeasuredBatch): void {
  const [first, last] = [stages.at(0), stages.at(-1)];
  if (first === undefined || last === undefined) return;
  const { startedAt } = first;
  const { endedAt } = last;
  let firstSpan: SpanContext | undefined;
  for (const [index, { record, parent }] of traced.entries()) {
    const withStages = index < maxRecordsWithStages;
    const span = tracing.record({
      name: `process ${batch.partition.topic}`,
      kind: "consumer",
      parent,
      startedAt,
      endedAt,
      attributes: toAttributes(record, batch),
      error: getError(record),
      links: withStages || firstSpan === undefined ? [] : [firstSpan],
    });
    if (span === undefined || !withStages) continue;
    firstSpan ??= span;
    for (const stage of stages) {
      const error = stage === last ? failure : undefined;
      tracing.record({ ...stage, kind: "internal", parent: span, error });
    }
  }
}

/**
 * OpenTelemetry's conventions for messaging. Never the key or the value: readers of traces may not see those.
 */
const toAttributes = (
  { offset, value }: LogRecord,
  { partition, groupId, records }: TracedBatch,
): Record<string, string | number | boolean> => ({
  "messaging.system": "kafka",
  "messaging.operation.type": "process",
  "messaging.operation.name": "process",
  "messaging.destination.name": partition.topic,
  "messaging.destination.partition.id": String(partition.partition),
  "messaging.consumer.group.name": groupId,
  "messaging.kafka.offset": offset,
  ...(value === null ? { "messaging.kafka.message.tombstone": true } : {}),
  "topicsync.batch.records": records.length,
});

function toErrorCode(error: unknown): string {
  if (error instanceof FencedError) return "FENCED";
  if (error instanceof UnavailableError) return "UNAVAILABLE";
  return "INTERNAL";
}
