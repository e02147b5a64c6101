import type { TopicBody } from "../../../schemas/topic.ts";
import { exitCodes, RefusalError } from "../../lib/errors.ts";
import { createTopicStore } from "../../storage/topics.ts";
import {
  importConcurrency,
  createTopicImporter,
  createDryRunImporter,
  type Importer,
} from "../../topics/importing.ts";
import { createTopicService } from "../../topics/service.ts";
import { countDefinitions } from "../input/checked-definitions.ts";
import { runCommand, type CommandContext } from "../context.ts";
import { allDefinitions, openSource, type PlacedDefinition, type Source } from "../input/definitions.ts";
import { commandLineUser } from "../os-user.ts";
import { printLine } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { formatRefused, type RefusedDefinition } from "../output/refused.ts";

export interface ImportFlags {
  readonly dryRun?: true;
  readonly json?: true;
}

/** What came of an import. */
interface Report {
  created: number;
  unchanged: number;
  readonly refused: RefusedDefinition[];
}

/** Creates topics from files, which are checked whole before anything is stored. */
export async function importTopics(files: readonly string[], flags: ImportFlags): Promise<void> {
  const sources = await Promise.all(files.map(openSource));
  const count = await countDefinitions(sources, "imported");
  if (count === undefined) {
    process.exitCode = exitCodes.refused;
    return;
  }
  await runCommand(async (connection) => {
    const report = await take(connection, { sources, count, importer: await importerOf(connection, flags) });
    await tell(report, flags);
    if (report.refused.length > 0) process.exitCode = exitCodes.refused;
  });
}

async function importerOf(
  { database, audit, log }: CommandContext,
  { dryRun }: ImportFlags,
): Promise<Importer> {
  const store = createTopicStore(await database(), log);
  if (dryRun) return createDryRunImporter(store);
  const record = audit();
  const topics = createTopicService(store);
  const user = commandLineUser();
  return createTopicImporter(store, async (body: TopicBody) => {
    const { event } = await topics.create(body, user);
    record(event);
  });
}

interface Work {
  readonly sources: readonly Source[];
  readonly count: number;
  readonly importer: Importer;
}

async function take({ abort }: CommandContext, { sources, count, importer }: Work): Promise<Report> {
  const report: Report = { created: 0, unchanged: 0, refused: [] };
  const progress = createProgress("importing", count, process.stderr);
  let done = 0;
  let waiting: PlacedDefinition[] = [];

  async function flush(): Promise<void> {
    const taken = waiting;
    waiting = [];
    const outcomes = await importer.take(taken.map(({ body }) => body));
    for (const [index, { place, body }] of taken.entries()) {
      const outcome = outcomes[index];
      if (outcome instanceof RefusalError) {
        const { code, message } = outcome;
        report.refused.push({ place, externalId: body.externalId, code, message });
      } else if (outcome !== undefined) report[outcome] += 1;
    }
    done += taken.length;
    progress.at(done);
  }

  for await (const one of allDefinitions(sources)) {
    if (abort.aborted)
      throw new Error(`stopped after ${done} of ${count}; the same command goes on from there`);
    if (!("body" in one)) throw new Error(`${one.place} changed while it was read: it ${one.fault}`);
    waiting.push(one);
    if (waiting.length === importConcurrency) await flush();
  }
  await flush();
  progress.end(`${done} of ${count} are done`);
  return report;
}

async function tell({ created, unchanged, refused }: Report, { dryRun, json }: ImportFlags): Promise<void> {
  if (json) {
    printLine(JSON.stringify({ ...(dryRun && { dryRun }), created, unchanged, refused }, undefined, 2));
    return;
  }
  const counts = `${created} created, ${unchanged} unchanged, ${refused.length} refused`;
  printLine(dryRun ? `this would come of it: ${counts}` : counts);
  if (refused.length > 0) printLine(await formatRefused(refused));
}
