import { InvalidArgumentError, type Command } from "commander";

import { exitCodes, formatFaults, UnavailableError } from "@topicsync/lib/errors";
import type { PickResponse } from "../../../schemas/pick.ts";
import { pickTopics } from "../../operations/pick.ts";
import { readEventRecord } from "../../routing/event.ts";
import { runWithClient } from "../client/client.ts";
import type { OperationClient } from "../client/operation-client.ts";
import { RequestError } from "../client/request-error.ts";
import { collectFile, getTotalSize, readLines, readTextFile } from "../input/files.ts";
import { parseDate, type JsonFlag } from "../input/options.ts";
import { serverOption, type ServerFlag } from "../input/server.ts";
import { openOutput, printError, sanitize } from "../output/output.ts";
import { writePicked } from "../output/pick-view.ts";

interface Flags extends JsonFlag, ServerFlag {
  readonly ndjson?: true;
  readonly explain?: string;
  readonly record?: string;
  readonly at?: Date;
}

export function definePick(command: Command): void {
  command
    .argument("<event-file...>", 'files with one event each; "-" is standard input', collectFile)
    .option("--ndjson", "read one event per line")
    .option(
      "--explain <externalId>",
      "also show which conditions of this topic match, with the values in the event",
    )
    .option(
      "--record <json>",
      'the data of the record that carries the event: {"$key": "…", "$header": {"NAME": "…"}, "$ce": {"type": "…"}}',
      parseRecord,
    )
    .option(
      "--at <time>",
      "pick from the topics as they were at this time (2026-11-21T07:18:04Z), and show their versions",
      parseDate,
    )
    .option("--json", "print one line of JSON per event (NDJSON) instead of tables")
    .option(...serverOption)
    .action(async (files: string[], flags: Flags) => {
      // Fails before anything is printed if a file is missing.
      await getTotalSize(files);
      await runWithClient(flags, (client) => pickAll(client, files, flags));
    });
}

/** Returns the text if it describes a record. */
function parseRecord(json: string): string {
  const read = readEventRecord(json);
  if (read.ok) return json;
  throw new InvalidArgumentError(formatFaults(read.faults, "It"));
}

/** Codes that are about one event; others are about all. */
const eventFaults = ["MALFORMED_JSON", "SCHEMA_VIOLATION", "UNDECODABLE", "BODY_TOO_LARGE"];

async function pickAll(client: OperationClient, files: readonly string[], flags: Flags): Promise<void> {
  const { explain, record, at } = flags;
  const query = { explain, record, at: at?.toISOString() };
  const output = openOutput();
  for await (const { place, text } of readEvents(files, flags)) {
    if (client.abort.aborted) throw new UnavailableError(`stopped before ${place}`);
    try {
      const { json } = await client.call<PickResponse>(pickTopics, { query, body: text });
      const isOpen = flags.json
        ? await output.write(`${JSON.stringify({ event: place, ...json })}\n`)
        : await writePicked(output, place, json);
      if (!isOpen) return;
    } catch (error) {
      if (!(error instanceof RequestError && eventFaults.includes(error.code))) throw error;
      printError(sanitize(`${place}: ${error.message}`));
      process.exitCode = exitCodes.rejected;
    }
  }
}

interface EventText {
  /** A file, or `FILE:LINE`. */
  readonly place: string;
  readonly text: string;
}

async function* readEvents(files: readonly string[], { ndjson }: Flags): AsyncGenerator<EventText> {
  for (const file of files)
    if (!ndjson) yield { place: file, text: await readTextFile(file) };
    else
      for await (const { text, number } of readLines(file))
        if (text.trim() !== "") yield { place: `${file}:${number}`, text };
}
