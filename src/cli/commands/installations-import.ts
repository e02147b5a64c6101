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
  readonly dryRun?: boolean;
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
  { dryRun = false, json: asJson }: ImportFlags,
): Promise<void> {
  const totalBytes = await getTotalSize(files);
  const progress = createProgress("importing (bytes)", totalBytes, process.stderr);
  const totals = { added: 0, updated: 0, kept: 0, rejected: 0 };
  const reject = (place: string, fault: string): void => {
    totals.rejected += 1;
    if (totals.rejected <= maxFaultsShown) printError(sanitize(`${place}: ${fault}`));
  };
  let doneBytes = 0;
  for (const file of files)
    for await (const batch of readBatches(file, reject)) {
      if (client.abort.aborted)
        throw new UnavailableError("interrupted; import the same files again to continue");
      const body = { installations: batch.map(({ record }) => record), dryRun };
      const { json } = await client.call<ImportedInstallations>(importInstallations, { body });
      for (const { index, reason } of json.rejected) reject(batch[index]?.place ?? file, reason);
      for (const name of ["added", "updated", "kept"] as const) totals[name] += json[name];
      doneBytes += batch.reduce((sum, { bytes }) => sum + bytes, 0);
      progress.at(Math.min(doneBytes, totalBytes));
    }
  if (totals.rejected > maxFaultsShown) printError(`and ${totals.rejected - maxFaultsShown} more`);
  progress.end(dryRun ? "dry run: nothing stored" : "import finished");
  const { added, updated, kept, rejected } = totals;
  if (asJson) printLine(JSON.stringify(totals));
  else
    printLine(
      `${added} added, ${updated} updated, ${kept} kept (stored version not older), ${rejected} rejected`,
    );
  if (rejected > 0) process.exitCode = exitCodes.rejected;
}

interface ReadRecord {
  /** Its file and line. */
  readonly place: string;
  readonly record: unknown;
  readonly bytes: number;
}

/** Reads records in batches that fit into a request. */
async function* readBatches(
  file: string,
  reject: (place: string, fault: string) => void,
): AsyncGenerator<readonly ReadRecord[], void, undefined> {
  const name = file === "-" ? "standard input" : file;
  let batch: ReadRecord[] = [];
  let batchBytes = 0;
  for await (const { text, number } of readLines(file)) {
    if (text.trim() === "") continue;
    const place = `${name}:${number}`;
    const record = tryParseJson(text, parseStrictJson);
    const bytes = Buffer.byteLength(JSON.stringify(record)) + 1;
    if (record instanceof Error) reject(place, `is not JSON: ${record.message}`);
    else if (bytes > maxBatchBytes)
      reject(place, `has ${bytes} bytes; a request has at most ${maxBatchBytes}`);
    else {
      if (batch.length === maxImported || batchBytes + bytes > maxBatchBytes) {
        yield batch;
        [batch, batchBytes] = [[], 0];
      }
      batch.push({ place, record, bytes });
      batchBytes += bytes;
    }
  }
  if (batch.length > 0) yield batch;
}
