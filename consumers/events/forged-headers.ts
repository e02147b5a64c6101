import type { LogRecord, Partition, RecordHeader } from "@topicsync/kafka";
import { isProvenReplay } from "../../src/dead-letters/proof.ts";

/** Removes headers of ours, unless we have written them. Without a key nothing proves that. */
export function removeForgedHeaders(
  record: LogRecord,
  { topic }: Pick<Partition, "topic">,
  proofKey: Buffer | undefined,
): LogRecord {
  const { headers } = record;
  if (!headers.some(isOwnHeader)) return record;
  if (proofKey !== undefined && isProvenReplay(proofKey, topic, record)) return record;
  return { ...record, headers: headers.filter((header) => !isOwnHeader(header)) };
}

const isOwnHeader = ([name]: RecordHeader): boolean => name.startsWith("topicsync.");
