import { KafkaUnavailableError } from "../lib/errors.ts";
import type { LogReader } from "../sync/records.ts";

/** The topic that letters are sent back to. */
export interface Destination {
  readonly topic: string;
  /** How many partitions it has. */
  readonly partitions: number;
  /** Whether a record sent there says in a header of what time the letter was: a report is as old as it was. */
  readonly namesTime?: boolean;
}

/** Looks a destination up. Throws UnavailableError, also when there is no such Kafka topic. */
export async function findDestination(
  reader: Pick<LogReader, "bounds">,
  topic: string,
  { namesTime }: { readonly namesTime: boolean },
): Promise<Destination> {
  const partitions = (await reader.bounds(topic))?.size;
  if (partitions === undefined) throw new KafkaUnavailableError(`there is no Kafka topic named "${topic}"`);
  return { topic, partitions, namesTime };
}
