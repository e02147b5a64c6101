import { KafkaUnavailableError } from "../lib/errors.ts";
import { elapsed } from "../lib/platform.ts";
import type { PartitionRecord, ReadOptions } from "../sync/records.ts";
import type { KafkaRequests } from "./requests.ts";

/** Longer than the timeout of a request. */
const stallTimeoutMs = 30_000;

/** See LogReader.read in src/sync/records.ts. */
export async function* readLog(
  requests: Pick<KafkaRequests, "fetchBounds" | "fetchRecords">,
  topic: string,
  { from, abort }: ReadOptions,
): AsyncGenerator<PartitionRecord, void, undefined> {
  const checkAbort = (): void => {
    if (abort.aborted) throw new KafkaUnavailableError(`reading ${topic} was stopped`);
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
      else if (elapsed() - movedAt > stallTimeoutMs)
        throw new KafkaUnavailableError(
          `Kafka does not respond: no records of ${topic} for ${stallTimeoutMs / 1_000} s`,
        );
      next = Math.max(next, after);
    }
  }
}
