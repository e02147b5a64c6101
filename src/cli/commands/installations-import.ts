import type { Command } from "commander";

import { exitCodes } from "../../lib/errors.ts";
import { createCatalog } from "../../installations/catalog-cache.ts";
import {
  createInstallationImporter,
  type ImportedInstallations,
  type InstallationImporter,
} from "../../installations/import.ts";
import type { Installation } from "../../installations/installation.ts";
import { createCatalogStore } from "../../storage/catalog.ts";
import { createInstallationArchive } from "../../storage/installation-archive.ts";
import { newId } from "../../lib/sys-id.ts";
import { runCommand, type CommandContext } from "../context.ts";
import { collectFile, getTotalSize, parseJson, readLines } from "../input/files.ts";
import { printError, printLine, sanitize } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";

const recordsABulk = 250;
const maxFaultsShown = 20;

interface ImportFlags {
  readonly dryRun?: true;
  readonly json?: true;
}

/** Adds `topicsync installations import`. */
export function addImportCommand(installations: Command): void {
  installations
    .command("import")
    .description(
      "store exported installations; of two records of a token the one that was changed later stays, so the same can be imported again",
    )
    .argument("<file...>", 'NDJSON, as `export` writes it; "-" is standard input', collectFile)
    .option("--dry-run", "say what would come of it, and store nothing")
    .option("--json", "print what came of it as JSON")
    .action((files: string[], flags: ImportFlags) =>
      runCommand((connection) => importAll(connection, files, flags)),
    );
}

async function importAll(
  { database, audit, abort }: CommandContext,
  files: readonly string[],
  flags: ImportFlags,
): Promise<void> {
  const dryRun = flags.dryRun === true;
  const size = await getTotalSize(files);
  const record = dryRun ? undefined : audit();
  const store = await database();
  const catalog = createCatalog(createCatalogStore(store, newId));
  const importer = createInstallationImporter(createInstallationArchive(store), catalog, newId);
  const progress = createProgress("importing (bytes)", size, process.stderr);
  const totals = { added: 0, updated: 0, kept: 0, refused: 0 };
  const refuse = (place: string, fault: string): void => {
    totals.refused += 1;
    if (totals.refused <= maxFaultsShown) printError(sanitize(`${place}: ${fault}`));
  };

  let before = 0;
  for (const file of files) {
    for await (const bulk of bulksOf(file, importer, refuse)) {
      const { idTaken, ...counts } = await importer.store([...bulk.placed.keys()], { dryRun });
      addCounts(totals, counts);
      const stored = counts.added + counts.updated;
      // For each bulk, so that an import that is cut off is told of as well.
      if (stored > 0) record?.({ action: "installations.imported", count: stored });
      for (const one of idTaken)
        refuse(
          bulk.placed.get(one) ?? file,
          "/id is that of another installation; leave it out for a new one.",
        );
      progress.at(Math.min(before + bulk.bytes, size));
      if (abort.aborted) throw new Error(`stopped at ${bulk.last}; import the same again to go on`);
    }
    before += await getTotalSize([file]);
  }
  if (totals.refused > maxFaultsShown) printError(`and ${totals.refused - maxFaultsShown} more`);
  progress.end(dryRun ? "nothing was stored: this is a dry run" : "all is stored that could be");
  const { added, updated, kept, refused } = totals;
  if (flags.json) printLine(JSON.stringify(totals));
  else
    printLine(
      `${added} added, ${updated} updated, ${kept} kept as they are (as new, or newer), ${refused} refused`,
    );
  if (refused > 0) process.exitCode = exitCodes.refused;
}

/** Some installations, each with the place of its line, and how far the file is read. */
interface Bulk {
  readonly placed: ReadonlyMap<Installation, string>;
  readonly bytes: number;
  readonly last: string;
}

async function* bulksOf(
  file: string,
  importer: InstallationImporter,
  refuse: (place: string, fault: string) => void,
): AsyncGenerator<Bulk, void, undefined> {
  const name = file === "-" ? "standard input" : file;
  let placed = new Map<Installation, string>();
  let [bytes, last] = [0, name];
  for await (const line of readLines(file)) {
    ({ bytes } = line);
    last = `${name}:${line.number}`;
    if (line.text.trim() === "") continue;
    const json = parseJson(line.text);
    const read = json instanceof Error ? `is not JSON: ${json.message}` : await importer.read(json);
    if (typeof read === "string") refuse(last, read);
    else placed.set(read, last);
    if (placed.size < recordsABulk) continue;
    yield { placed, bytes, last };
    placed = new Map();
  }
  yield { placed, bytes, last };
}

function addCounts(
  totals: { added: number; updated: number; kept: number },
  { added, updated, kept }: Omit<ImportedInstallations, "idTaken">,
): void {
  totals.added += added;
  totals.updated += updated;
  totals.kept += kept;
}
