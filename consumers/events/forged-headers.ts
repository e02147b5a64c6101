import { isProvenReplay } from "../../src/dead-letters/proof.ts";
import type { LogRecord, Partition } from "../../src/sync/records.ts";

/** Removes headers of ours, unless we have written them. Without a key nothing proves that. */
export function removeForgedHeaders(
  record: LogRecord,
  { topic }: Pick<Partition, "topic">,
  proofKey: Buffer | undefined,
): LogRecord {
  const { headers } = record;
  const names = Object.keys(headers);
  if (!names.some(isOwnHeader)) return record;
  if (proofKey !== undefined && isProvenReplay(proofKey, topic, record)) return record;
  const others = Object.entries(headers).filter(([name]) => !isOwnHeader(name));
  return { ...record, headers: Object.fromEntries(others) };
}

const isOwnHeader = (name: string): boolean => name.startsWith("topicsync.");
