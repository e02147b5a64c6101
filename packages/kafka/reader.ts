import { KafkaUnavailableError } from "@topicsync/lib/errors";
import { elapsed } from "@topicsync/lib/platform";
import type { FetchedPart, OffsetRange, PartitionRecord, ReadOptions } from "./interface/records.ts";
import type { KafkaRequests } from "./requests.ts";

/** Longer than the timeout of a request. */
const stallTimeoutMs = 30_000;

type Requests = Pick<KafkaRequests, "fetchBounds" | "fetchRecords">;

/** See LogReader.read in packages/kafka/interface/records.ts. */
export async function* readLog(
  requests: Requests,
  topic: string,
  { from, abort }: ReadOptions,
): AsyncGenerator<PartitionRecord, void, undefined> {
  const fetchBounds = async () => {
    const bounds = await requests.fetchBounds(topic, "committed");
    if (bounds === undefined) throw new KafkaUnavailableError(`there is no Kafka topic named "${topic}"`);
    return bounds;
  };
  const ranges = [...(await fetchBounds())].map(([partition, { low, high }]) => ({
    partition,
    from: Math.max(low, from?.get(partition) ?? low),
    to: high,
  }));
  const findStart = async (partition: number) => (await fetchBounds()).get(partition)?.low ?? Infinity;
  for await (const { partition, records } of readParts(requests, topic, { ranges, abort, findStart }))
    for (const record of records) {
      yield { partition, record };
      requireNotAborted(topic, abort);
    }
}

interface RangesOptions {
  readonly ranges: readonly OffsetRange[];
  readonly abort: AbortSignal;
}

/** See LogReader.readRanges. */
export const readRanges = (
  requests: Requests,
  topic: string,
  options: RangesOptions,
): AsyncGenerator<FetchedPart, void, undefined> =>
  readParts(requests, topic, {
    ...options,
    findStart(partition, from) {
      throw new KafkaUnavailableError(
        `Kafka deleted the records of partition ${partition} of ${topic} from offset ${from} on before they were read`,
      );
    },
  });

interface PartsOptions extends RangesOptions {
  /** Finds where a partition begins whose records were deleted from an offset on. May throw instead. */
  readonly findStart: (partition: number, from: number) => Promise<number>;
}

/** The next part is fetched while the last one is processed. */
async function* readParts(
  requests: Requests,
  topic: string,
  options: PartsOptions,
): AsyncGenerator<FetchedPart, void, undefined> {
  const waiting = options.ranges.filter(({ from, to }) => from < to);
  const ends = new Map(waiting.map(({ partition, to }) => [partition, to]));
  const fetchFirst = (): Promise<FetchedPart> | undefined => {
    const range = waiting.shift();
    const part = range && fetchPart(requests, topic, range, options);
    // Whoever stops early does not wait for it.
    part?.catch(() => undefined);
    return part;
  };
  let pending = fetchFirst();
  while (pending !== undefined) {
    const part = await pending;
    requireNotAborted(topic, options.abort);
    const { partition, end } = part;
    const to = ends.get(partition) ?? end;
    if (end < to) waiting.push({ partition, from: end, to });
    pending = fetchFirst();
    yield part;
  }
}

/** Fetches the first records of a range; none if those of the first batches are not committed. */
async function fetchPart(
  requests: Requests,
  topic: string,
  { partition, from, to }: OffsetRange,
  { abort, findStart }: PartsOptions,
): Promise<FetchedPart> {
  for (const startedAt = elapsed(); ;) {
    requireNotAborted(topic, abort);
    const fetched = await requests.fetchRecords(topic, { partition, offset: from });
    const end = fetched.isOutOfRange ? await findStart(partition, from) : fetched.end;
    if (end > from) {
      const records = fetched.records.filter(({ offset }) => offset >= from && offset < to);
      return { partition, records, end: Math.min(end, to) };
    }
    if (elapsed() - startedAt > stallTimeoutMs)
      throw new KafkaUnavailableError(
        `Kafka does not respond: no records of ${topic} for ${stallTimeoutMs / 1_000} s`,
      );
  }
}

function requireNotAborted(topic: string, abort: AbortSignal): void {
  if (abort.aborted) throw new KafkaUnavailableError(`reading ${topic} was stopped`);
}
