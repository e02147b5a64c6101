import { KafkaUnavailableError } from "@topicsync/lib/errors";
import { elapsed } from "@topicsync/lib/platform";
import type { FetchedPart, OffsetRange, PartitionRecord, ReadOptions } from "./interface/records.ts";
import type { KafkaRequests } from "./requests.ts";

/** Longer than the timeout of a request. */
const stallTimeoutMs = 30_000;

/** See LogReader.read in packages/kafka/interface/records.ts. */
export async function* readLog(
  requests: Pick<KafkaRequests, "fetchBounds" | "fetchRecords">,
  topic: string,
  { from, abort }: ReadOptions,
): AsyncGenerator<PartitionRecord, void, undefined> {
  const checkAbort = (): void => {
    requireNotAborted(topic, abort);
  };
  const fetchBounds = async () => {
    const bounds = await requests.fetchBounds(topic, "committed");
    if (bounds === undefined) throw new KafkaUnavailableError(`there is no Kafka topic named "${topic}"`);
    return bounds;
  };
  for (const [partition, { low, high }] of await fetchBounds()) {
    let next = Math.max(low, from?.get(partition) ?? low);
    let movedAt = elapsed();
    while (next < high) {
      checkAbort();
      const { records, end, isOutOfRange } = await requests.fetchRecords(topic, { partition, offset: next });
      for (const record of records) {
        if (record.offset < next || record.offset >= high) continue;
        yield { partition, record };
        checkAbort();
      }
      // Records may be deleted before they are read.
      const after = isOutOfRange ? ((await fetchBounds()).get(partition)?.low ?? high) : end;
      if (after > next) movedAt = elapsed();
      else requireNotStalled(topic, movedAt);
      next = Math.max(next, after);
    }
  }
}

function requireNotAborted(topic: string, abort: AbortSignal): void {
  if (abort.aborted) throw new KafkaUnavailableError(`reading ${topic} was stopped`);
}

function requireNotStalled(topic: string, movedAt: number): void {
  if (elapsed() - movedAt > stallTimeoutMs)
    throw new KafkaUnavailableError(
      `Kafka does not respond: no records of ${topic} for ${stallTimeoutMs / 1_000} s`,
    );
}

/** See LogReader.readRanges. The next part is fetched while the last one is processed. */
export async function* readRanges(
  requests: Pick<KafkaRequests, "fetchRecords">,
  topic: string,
  { ranges, abort }: { readonly ranges: readonly OffsetRange[]; readonly abort: AbortSignal },
): AsyncGenerator<FetchedPart, void, undefined> {
  const waiting = ranges.filter(({ from, to }) => from < to);
  const fetchFirst = (): Promise<FetchedPart> | undefined => {
    const range = waiting.shift();
    const part = range && fetchPart(requests, topic, { range, abort });
    // Whoever stops early does not wait for it.
    part?.catch(() => undefined);
    return part;
  };
  let pending = fetchFirst();
  while (pending !== undefined) {
    const part = await pending;
    requireNotAborted(topic, abort);
    const { to } = ranges.find(({ partition }) => partition === part.partition) ?? { to: part.end };
    if (part.end < to) waiting.push({ partition: part.partition, from: part.end, to });
    pending = fetchFirst();
    yield part;
  }
}

/** Fetches the first records of a range; none if those of the first batches are not committed. */
async function fetchPart(
  requests: Pick<KafkaRequests, "fetchRecords">,
  topic: string,
  { range, abort }: { readonly range: OffsetRange; readonly abort: AbortSignal },
): Promise<FetchedPart> {
  const { partition, from, to } = range;
  for (const startedAt = elapsed(); ;) {
    requireNotAborted(topic, abort);
    const { records, end, isOutOfRange } = await requests.fetchRecords(topic, { partition, offset: from });
    if (isOutOfRange)
      throw new KafkaUnavailableError(
        `Kafka deleted the records of partition ${partition} of ${topic} from offset ${from} on before they were read`,
      );
    if (end > from) {
      const inRange = records.filter(({ offset }) => offset >= from && offset < to);
      return { partition, records: inRange, end: Math.min(end, to) };
    }
    requireNotStalled(topic, startedAt);
  }
}
