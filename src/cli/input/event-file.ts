import { exitCodes, UnavailableError } from "@topicsync/lib/errors";
import { readRecord } from "../../service/impact/read-events.ts";
import type { EventSink, ReadResult } from "../../plans/impact/events.ts";
import { ReadTally } from "../../plans/impact/read-tally.ts";
import { formatCount } from "../output/format.ts";
import { printError } from "../output/output.ts";
import { createLongProgress } from "../output/progress.ts";
import { getTotalSize, readLines } from "./files.ts";

const kilobyte = 1_000;
const minProgressKilobytes = 10_000;
/** Kafka's own: without a timestamp. */
const noTimestamp = "-1";

/** Reads events from a file with one per line, each as the value of a record. Throws UnavailableError. */
export async function readEventFile(
  file: string,
  sink: EventSink,
  { maxEventBytes, abort }: { readonly maxEventBytes: number; readonly abort: AbortSignal },
): Promise<ReadResult> {
  const tally = new ReadTally(sink);
  const size = Math.ceil((await getTotalSize([file])) / kilobyte);
  const progress = createLongProgress("kB of events", size, minProgressKilobytes);
  for await (const { text, number, bytes } of readLines(file)) {
    if (abort.aborted) throw new UnavailableError(`stopped at line ${number} of ${file}`);
    if (text.trim() === "") continue;
    const value = Buffer.from(text);
    const record = { offset: number, timestamp: noTimestamp, key: null, value, headers: [] };
    tally.add(readRecord(record, 0, { topic: "", maxEventBytes, proofKey: undefined }));
    progress.at(bytes / kilobyte);
  }
  const read = tally.describe();
  progress.end(`read ${formatCount(read.events, "event")}`);
  const faulty = read.records - read.events;
  if (faulty > 0) {
    printError(`${formatCount(faulty, "line")} skipped: not a valid event`);
    process.exitCode = exitCodes.rejected;
  }
  return { complete: true, read };
}
