import { UnavailableError, type RefusalError } from "../src/lib/errors.ts";
import { FencedError } from "../src/sync/positions.ts";
import type { LogRecord, Partition } from "../src/sync/records.ts";
import { isSampled, traceClock, type SpanContext, type Stage, type Tracing } from "../src/tracing/tracing.ts";

/** What was done with a batch, for the traces of its records. */
export interface BatchTrace {
  /** From now on this is done with the batch; it ends what was done before. */
  readonly entered: (stage: Stage) => void;
  /** Nothing is done with it for now: it waits for the batch before. */
  readonly waits: () => void;
  /** Applies the batch, and tells of all of it once that ended, well or not. */
  through<Applied extends Outcome>(apply: () => Promise<Applied>): Promise<Applied>;
}

/** What became of a batch, as far as traces show it. */
interface Outcome {
  readonly refusals: readonly { readonly offset: number; readonly refusal: RefusalError }[];
}

export interface TracedBatch {
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
  readonly began: number;
  ended: number;
}

/** So many records of a batch show its stages, which are the same for all; the others are linked to the first. */
const maxWithStages = 20;

/**
 * Begins the trace of a batch. Undefined when none of its records carries a `traceparent` whose trace somebody wants to see:
 * then nothing is measured. See docs/decisions/006.
 */
export function traceBatch(tracing: Tracing | undefined, batch: TracedBatch): BatchTrace | undefined {
  if (tracing === undefined) return undefined;
  const traced = tracedOf(batch.records, tracing);
  if (traced.length === 0) return undefined;
  const now = traceClock();
  const stages: TimedStage[] = [];

  const entered = (name: Stage): void => {
    const began = now();
    end(began);
    stages.push({ name, began, ended: NaN });
  };
  const end = (at: number): void => {
    const last = stages.at(-1);
    if (last !== undefined && Number.isNaN(last.ended)) last.ended = at;
  };
  const tell = (refusals: Outcome["refusals"], failure?: string): void => {
    end(now());
    const refused = new Map(refusals.map(({ offset, refusal }) => [offset, refusal.code]));
    tellOf(tracing, {
      ...batch,
      traced,
      stages,
      failure,
      errorOf: ({ offset }) => failure ?? refused.get(offset),
    });
  };

  return {
    entered,
    waits: () => {
      end(now());
    },
    async through(apply) {
      const applied = await apply().catch((error: unknown) => {
        tell([], failureOf(error));
        throw error;
      });
      tell(applied.refusals);
      return applied;
    },
  };
}

function tracedOf(records: readonly LogRecord[], tracing: Tracing): TracedRecord[] {
  const traced: TracedRecord[] = [];
  for (const record of records) {
    if (record.headers["traceparent"] === undefined) continue;
    const parent = tracing.contextOf((name) => headerOf(record, name));
    if (parent !== undefined && isSampled(parent)) traced.push({ record, parent });
  }
  return traced;
}

/** The last of a name, as Kafka's clients read headers that are there once. */
function headerOf({ headers }: LogRecord, name: string): string | undefined {
  const value = [headers[name]].flat().at(-1);
  return typeof value === "string" ? value : value?.toString("latin1");
}

interface Told extends TracedBatch {
  readonly traced: readonly TracedRecord[];
  readonly stages: readonly TimedStage[];
  /** Why the batch as a whole failed. */
  readonly failure: string | undefined;
  readonly errorOf: (record: LogRecord) => string | undefined;
}

/** Tells of each traced record: a span in its own trace, and within it the stages of the batch. */
function tellOf(tracing: Tracing, { traced, stages, failure, errorOf, ...batch }: Told): void {
  const [first, last] = [stages.at(0), stages.at(-1)];
  if (first === undefined || last === undefined) return;
  const { began } = first;
  const { ended } = last;
  let shown: SpanContext | undefined;
  for (const [index, { record, parent }] of traced.entries()) {
    const withStages = index < maxWithStages;
    const within = tracing.tell({
      name: `process ${batch.partition.topic}`,
      kind: "consumer",
      parent,
      began,
      ended,
      attributes: attributesOf(record, batch),
      error: errorOf(record),
      links: withStages || shown === undefined ? [] : [shown],
    });
    if (within === undefined || !withStages) continue;
    shown ??= within;
    for (const stage of stages) {
      const error = stage === last ? failure : undefined;
      tracing.tell({ ...stage, kind: "internal", parent: within, error });
    }
  }
}

/** By OpenTelemetry's conventions for messaging. Nothing of the key or the value: whoever may see traces may not see those. */
const attributesOf = (
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

function failureOf(error: unknown): string {
  if (error instanceof FencedError) return "FENCED";
  if (error instanceof UnavailableError) return "UNAVAILABLE";
  return "INTERNAL";
}
