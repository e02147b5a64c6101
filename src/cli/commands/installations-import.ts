import type { Command } from "commander";

import type { InstallationImporter } from "../../installations/import.ts";
import type { Installation } from "../../installations/installation.ts";
import { exitCodes } from "../../lib/errors.ts";
import { runWithContext, type CommandContext } from "../context.ts";
import { collectFile, getTotalSize, tryParseJson, readLines } from "../input/files.ts";
import { printError, printLine, sanitize } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";

const recordsPerBatch = 250;
const maxFaultsShown = 20;

interface ImportFlags {
  readonly dryRun?: true;
  readonly json?: true;
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
    .action((files: string[], flags: ImportFlags) =>
      runWithContext((context) => importAll(context, files, flags)),
    );
}

async function importAll(
  { services, audit, abort }: CommandContext,
  files: readonly string[],
  flags: ImportFlags,
): Promise<void> {
  const dryRun = flags.dryRun === true;
  const totalBytes = await getTotalSize(files);
  const record = dryRun ? undefined : audit();
  const { installationImporter: importer } = await services();
  const progress = createProgress("importing (bytes)", totalBytes, process.stderr);
  const totals = { added: 0, updated: 0, kept: 0, rejected: 0 };
  const reject = (place: string, fault: string): void => {
    totals.rejected += 1;
    if (totals.rejected <= maxFaultsShown) printError(sanitize(`${place}: ${fault}`));
  };

  let bytesBefore = 0;
  for (const file of files) {
    for await (const { placed, bytes, lastPlace } of readBatches(file, importer, reject)) {
      const { added, updated, kept, idTaken } = await importer.store([...placed.keys()], { dryRun });
      totals.added += added;
      totals.updated += updated;
      totals.kept += kept;
      // Recorded for each batch, so that an interrupted import is recorded too.
      if (added + updated > 0) record?.({ action: "installations.imported", count: added + updated });
      for (const one of idTaken)
        reject(placed.get(one) ?? file, "/id belongs to another installation; leave it out to get a new one");
      progress.at(Math.min(bytesBefore + bytes, totalBytes));
      if (abort.aborted)
        throw new Error(`interrupted at ${lastPlace}; import the same files again to continue`);
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
  /** The installations with the places of their lines. */
  readonly placed: ReadonlyMap<Installation, string>;
  /** How far the file has been read. */
  readonly bytes: number;
  readonly lastPlace: string;
}

async function* readBatches(
  file: string,
  importer: InstallationImporter,
  reject: (place: string, fault: string) => void,
): AsyncGenerator<Batch, void, undefined> {
  const name = file === "-" ? "standard input" : file;
  let placed = new Map<Installation, string>();
  let bytes = 0;
  let lastPlace = name;
  for await (const line of readLines(file)) {
    ({ bytes } = line);
    lastPlace = `${name}:${line.number}`;
    if (line.text.trim() === "") continue;
    const json = tryParseJson(line.text);
    const read = json instanceof Error ? `is not JSON: ${json.message}` : await importer.read(json);
    if (typeof read === "string") reject(lastPlace, read);
    else placed.set(read, lastPlace);
    if (placed.size < recordsPerBatch) continue;
    yield { placed, bytes, lastPlace };
    placed = new Map();
  }
  yield { placed, bytes, lastPlace };
}
