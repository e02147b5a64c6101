import { RejectionError, UnavailableError, type Fault } from "@topicsync/lib/errors";
import { currentDate } from "@topicsync/lib/platform";
import { newId } from "@topicsync/lib/sys-id";
import { toTime } from "@topicsync/lib/time";
import type { KafkaConfig, LogReader } from "@topicsync/kafka";
import { selectBackfillRanges, type BackfillKafka } from "../../consumers/backfills/ranges.ts";
import { countOffsets } from "../plans/impact/selection.ts";
import type { Backfill, BackfillRequest, BackfillStore, RequestBackfill } from "../routing/backfill.ts";
import { createEgressNamingFromConfig } from "./egress-naming.ts";

interface RequestOptions {
  readonly store: BackfillStore;
  readonly broker: () => Promise<
    Pick<BackfillKafka, "fetchBounds" | "findFirstSince" | "fetchCommittedOffsets"> &
      Pick<LogReader, "fetchRecords">
  >;
  /** Called with each request. */
  readonly onRequested?: (() => void) | undefined;
}

/**
 * Within this time all instances know a change of a topic, and that a backfill was cancelled, and have
 * committed what they had matched before: a poll takes ten seconds, and a transaction ends after a minute.
 */
const settleMs = 75_000;
/** It remembers a bit for each. */
const maxOffsets = 500_000_000;

/** Takes requests for backfills, which the instances of the service run. Undefined if there is no router. */
export function createRequestBackfill(
  config: KafkaConfig,
  { store, broker, onRequested }: RequestOptions,
): RequestBackfill | undefined {
  const { router } = config;
  const naming = createEgressNamingFromConfig(config);
  if (router === undefined || naming === undefined) return undefined;
  return async (topic, request) => {
    checkTimes(request);
    const kafka = await broker();
    await requireKept(kafka, router.topic, request.from);
    const offsets = countOffsets(await selectBackfillRanges(kafka, router, request));
    if (offsets > maxOffsets) {
      const message = `selects ${offsets} offsets, more than ${maxOffsets}: choose a shorter time`;
      throw createRejection([{ path: "/from", message }]);
    }
    const now = currentDate();
    const { id, externalId, namespace, version, headerQuery, contentQuery, updatedOn } = topic;
    const changes = [updatedOn, await store.findLastCancel(externalId)];
    const settledOn = changes.map((on) => (on?.getTime() ?? 0) + settleMs);
    const backfill: Backfill = {
      ...request,
      id: newId(),
      topic: { id, externalId, namespace, version, headerQuery, contentQuery },
      egressTopic: naming.getName(topic),
      requestedOn: now,
      startsOn: new Date(Math.max(now.getTime(), ...settledOn)),
      ...{ state: "running", reason: null, endedOn: null, ranges: null },
    };
    if (!(await store.insert(backfill))) return undefined;
    onRequested?.();
    return backfill;
  };
}

const createRejection = (faults: readonly Fault[]): RejectionError =>
  new RejectionError("SCHEMA_VIOLATION", "The range is not valid.", faults);

function checkTimes({ from, to }: Pick<BackfillRequest, "from" | "to">): void {
  const faults: Fault[] = [];
  if (from > currentDate()) faults.push({ path: "/from", message: "is in the future" });
  if (to !== null && to <= from) faults.push({ path: "/to", message: "must be later than from" });
  if (faults.length > 0) throw createRejection(faults);
}

/** Throws a RejectionError for a time whose events Kafka has deleted in all partitions. */
async function requireKept(
  kafka: Pick<LogReader, "fetchBounds" | "fetchRecords">,
  topic: string,
  from: Date,
): Promise<void> {
  const bounds = await kafka.fetchBounds(topic);
  if (bounds === undefined) throw new UnavailableError(`there is no Kafka topic named "${topic}"`);
  const times = await Promise.all(
    [...bounds].map(async ([partition, { low, high }]) => {
      // Nothing was deleted, or nothing is left that has a time.
      if (low === 0 || low >= high) return -Infinity;
      const records = await kafka.fetchRecords(topic, { partition, offset: low });
      // A batch is delivered with the records that were deleted of it.
      return Number(records.find(({ offset }) => offset >= low)?.timestamp ?? -Infinity);
    }),
  );
  const earliest = Math.min(...times);
  if (from.getTime() >= earliest) return;
  const time = toTime(earliest)?.toISOString() ?? "";
  throw createRejection([
    { path: "/from", message: `is earlier than the first event that Kafka still has: begin with ${time}` },
  ]);
}
