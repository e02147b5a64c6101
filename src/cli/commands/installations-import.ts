import type { Command } from "commander";

import { exitCodes, UnavailableError } from "@topicsync/lib/errors";
import { parseStrictJson } from "@topicsync/lib/json";
import {
  maxImportBytes,
  maxImported,
  type ImportedInstallations,
} from "../../../schemas/installations/import.ts";
import { importInstallations } from "../../operations/installations.ts";
import { runWithClient } from "../client/client.ts";
import type { OperationClient } from "../client/operation-client.ts";
import { collectFile, getTotalSize, tryParseJson, readLines } from "../input/files.ts";
import type { JsonFlag } from "../input/options.ts";
import { serverOption, type ServerFlag } from "../input/server.ts";
import { printError, printLine, sanitize } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";

/** Leaves space for the other members of the body. */
const maxBatchBytes = maxImportBytes - 100;
const maxFaultsShown = 20;

interface ImportFlags extends JsonFlag, ServerFlag {
  readonly dryRun?: true;
}

export function addImportCommand(installations: Command): void {
  installations
    .command("import")
    .description("store listed installations; of two records of a token the later change wins")
    .argument(
      "<file...>",
      'NDJSON as printed by `list --json --full-tokens`; "-" for standard input',
      collectFile,
    )
    .option("--dry-run", "check the files and store nothing")
    .option("--json", "print the result as JSON")
    .option(...serverOption)
    .action((files: string[], flags: ImportFlags) =>
      runWithClient(flags, (client) => importAll(client, files, flags)),
    );
}

async function importAll(
  client: OperationClient,
  files: readonly string[],
  flags: ImportFlags,
): Promise<void> {
  const dryRun = flags.dryRun === true;
  const totalBytes = await getTotalSize(files);
  const progress = createProgress("importing (bytes)", totalBytes, process.stderr);
  const totals = { added: 0, updated: 0, kept: 0, rejected: 0 };
  const reject = (place: string, fault: string): void => {
    totals.rejected += 1;
    if (totals.rejected <= maxFaultsShown) printError(sanitize(`${place}: ${fault}`));
  };
  let bytesBefore = 0;
  for (const file of files) {
    for await (const { records, places, bytes } of readBatches(file, reject)) {
      if (client.abort.aborted)
        throw new UnavailableError("interrupted; import the same files again to continue");
      if (records.length > 0) {
        const body = { installations: records, dryRun };
        const { json: result } = await client.call<ImportedInstallations>(importInstallations, { body });
        for (const { index, reason } of result.rejected) reject(places[index] ?? file, reason);
        for (const name of ["added", "updated", "kept"] as const) totals[name] += result[name];
      }
      progress.at(Math.min(bytesBefore + bytes, totalBytes));
    }
    bytesBefore += await getTotalSize([file]);
  }
  if (totals.rejected > maxFaultsShown) printError(`and ${totals.rejected - maxFaultsShown} more`);
  progress.end(dryRun ? "dry run: nothing stored" : "import finished");
  const { added, updated, kept, rejected } = totals;
  if (flags.json) printLine(JSON.stringify(totals));
  else
    printLine(
      `${added} added, ${updated} updated, ${kept} kept (stored version not older), ${rejected} rejected`,
    );
  if (rejected > 0) process.exitCode = exitCodes.rejected;
}

interface Batch {
  readonly records: readonly unknown[];
  /** The line of each record. */
  readonly places: readonly string[];
  /** How far the file has been read. */
  readonly bytes: number;
}

/** Reads records in batches that fit into a request. */
async function* readBatches(
  file: string,
  reject: (place: string, fault: string) => void,
): AsyncGenerator<Batch, void, undefined> {
  const name = file === "-" ? "standard input" : file;
  let records: unknown[] = [];
  let places: string[] = [];
  let batchBytes = 0;
  let bytes = 0;
  for await (const line of readLines(file)) {
    const place = `${name}:${line.number}`;
    if (line.text.trim() !== "") {
      const record = tryParseJson(line.text, parseStrictJson);
      const recordBytes = Buffer.byteLength(JSON.stringify(record)) + 1;
      if (record instanceof Error) reject(place, `is not JSON: ${record.message}`);
      else if (recordBytes > maxBatchBytes)
        reject(place, `has ${recordBytes} bytes; a request has at most ${maxBatchBytes}`);
      else {
        if (records.length === maxImported || batchBytes + recordBytes > maxBatchBytes) {
          yield { records, places, bytes };
          [records, places, batchBytes] = [[], [], 0];
        }
        records.push(record);
        places.push(place);
        batchBytes += recordBytes;
      }
    }
    ({ bytes } = line);
  }
  yield { records, places, bytes };
}
