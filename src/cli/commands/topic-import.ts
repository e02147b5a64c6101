import { exitCodes, RejectionError } from "../../lib/errors.ts";
import { createTopicImport, importBatchSize, type ImportTopics } from "../../topics/importing.ts";
import { getCommandLineUser, runWithContext, type CommandContext } from "../context.ts";
import {
  countDefinitions,
  openSource,
  readDefinitionBatches,
  type DefinitionSource,
} from "../input/definitions.ts";
import { printJson, printLine } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { formatRejected, type RejectedDefinition } from "../output/rejected.ts";

export interface ImportFlags {
  readonly dryRun?: true;
  readonly json?: true;
}

interface Report {
  created: number;
  unchanged: number;
  readonly rejected: RejectedDefinition[];
}

/** Creates topics from files. All files are validated before anything is stored. */
export async function importTopics(files: readonly string[], flags: ImportFlags): Promise<void> {
  const sources = await Promise.all(files.map(openSource));
  const count = await countDefinitions(sources, "imported");
  if (count === undefined) {
    process.exitCode = exitCodes.rejected;
    return;
  }
  await runWithContext(async (context) => {
    const importBatch = await createImport(context, flags);
    const report = await importAll(sources, { count, importBatch, abort: context.abort });
    await printReport(report, flags);
    if (report.rejected.length > 0) process.exitCode = exitCodes.rejected;
  });
}

async function createImport(
  { services, audit }: CommandContext,
  { dryRun }: ImportFlags,
): Promise<ImportTopics> {
  const record = dryRun ? undefined : audit();
  const { topicStore } = await services();
  return createTopicImport(topicStore, {
    user: getCommandLineUser(),
    dryRun: dryRun === true,
    onCreated: record,
  });
}

interface Run {
  readonly count: number;
  readonly importBatch: ImportTopics;
  readonly abort: AbortSignal;
}

async function importAll(
  sources: readonly DefinitionSource[],
  { count, importBatch, abort }: Run,
): Promise<Report> {
  const report: Report = { created: 0, unchanged: 0, rejected: [] };
  const progress = createProgress("importing", count, process.stderr);
  let done = 0;
  for await (const batch of readDefinitionBatches(sources, importBatchSize)) {
    if (abort.aborted)
      throw new Error(`stopped after ${done} of ${count}; run the same command again to continue`);
    const outcomes = await importBatch(batch.map(({ body }) => body));
    for (const [i, { place, body }] of batch.entries()) {
      const outcome = outcomes[i];
      if (outcome instanceof RejectionError) {
        const { code, message } = outcome;
        report.rejected.push({ place, externalId: body.externalId, code, message });
      } else if (outcome !== undefined) report[outcome] += 1;
    }
    done += batch.length;
    progress.at(done);
  }
  progress.end(`${done} of ${count} done`);
  return report;
}

async function printReport(
  { created, unchanged, rejected }: Report,
  { dryRun, json }: ImportFlags,
): Promise<void> {
  if (json) {
    printJson({ ...(dryRun && { dryRun }), created, unchanged, rejected });
    return;
  }
  const counts = `${created} created, ${unchanged} unchanged, ${rejected.length} rejected`;
  printLine(dryRun ? `dry run: ${counts}` : counts);
  if (rejected.length > 0) printLine(await formatRejected(rejected));
}
