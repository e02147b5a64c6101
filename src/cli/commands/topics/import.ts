import { exitCodes, UnavailableError } from "@topicsync/lib/errors";
import type { TopicChangesReply } from "../../../../schemas/topics/changes.ts";
import type { TopicLookUpReply } from "../../../../schemas/topics/sets.ts";
import { changeTopics } from "../../../operations/topic-changes.ts";
import { lookUpTopics } from "../../../operations/topic-sets.ts";
import {
  getCombination,
  isSameDefinition,
  toDefinition,
  type TopicDefinition,
} from "../../../topics/topic.ts";
import { runWithClient } from "../../client/client.ts";
import type { OperationClient } from "../../client/operation-client.ts";
import { RequestError } from "../../client/request-error.ts";
import { findDefinitions } from "../../client/topics.ts";
import {
  countDefinitions,
  openSource,
  readDefinitionBatches,
  type DefinitionSource,
  type PlacedDefinition,
} from "../../input/definitions.ts";
import type { JsonFlag } from "../../input/options.ts";
import type { ServerFlag } from "../../input/server.ts";
import { printError, printJson, printLine } from "../../output/output.ts";
import { createProgress } from "../../output/progress.ts";
import { formatRejected, type RejectedDefinition } from "../../output/rejected.ts";

export interface ImportFlags extends JsonFlag, ServerFlag {
  readonly dryRun?: true;
}

interface Report {
  created: number;
  unchanged: number;
  readonly rejected: RejectedDefinition[];
}

/** `unchanged`: a topic of this external id exists with the same definition. */
type Outcome = "created" | "unchanged" | Pick<RejectedDefinition, "code" | "message">;

const batchSize = 200;

/** Creates topics from files. All files are validated before anything is stored. */
export async function importTopics(files: readonly string[], flags: ImportFlags): Promise<void> {
  const sources = await Promise.all(files.map(openSource));
  const count = await countDefinitions(sources, "imported");
  if (count === undefined) {
    process.exitCode = exitCodes.rejected;
    return;
  }
  await runWithClient(flags, async (client) => {
    const report = await importAll(sources, { count, client, dryRun: flags.dryRun === true });
    await printReport(report, flags);
    if (report.rejected.length > 0) process.exitCode = exitCodes.rejected;
  });
}

interface Run {
  readonly count: number;
  readonly client: OperationClient;
  readonly dryRun: boolean;
}

async function importAll(sources: readonly DefinitionSource[], run: Run): Promise<Report> {
  const { count, client } = run;
  const report: Report = { created: 0, unchanged: 0, rejected: [] };
  const progress = createProgress("importing", count, process.stderr);
  let done = 0;
  try {
    for await (const batch of readDefinitionBatches(sources, batchSize)) {
      if (client.abort.aborted) throw new UnavailableError("stopped");
      const outcomes = await importBatch(batch, run);
      for (const one of batch) {
        const outcome = outcomes.get(one);
        if (typeof outcome === "string") report[outcome] += 1;
        else if (outcome !== undefined)
          report.rejected.push({ place: one.place, externalId: one.body.externalId, ...outcome });
      }
      done += batch.length;
      progress.at(done);
    }
  } catch (error) {
    printError(`stopped after ${done} of ${count}; run the same command again to continue`);
    throw error;
  }
  progress.end(`${done} of ${count} done`);
  return report;
}

/** Creates those topics of a batch that do not exist. */
async function importBatch(
  batch: readonly PlacedDefinition[],
  run: Run,
): Promise<ReadonlyMap<PlacedDefinition, Outcome>> {
  const outcomes = new Map<PlacedDefinition, Outcome>();
  const stored = await findDefinitions(
    run.client,
    batch.map(({ body }) => body.externalId),
  );
  for (const one of batch) {
    const existing = stored.get(one.body.externalId);
    if (existing !== undefined) outcomes.set(one, compare(toDefinition(one.body), existing));
  }
  const others = batch.filter((one) => !outcomes.has(one));
  if (others.length > 0) await create(others, { ...run, outcomes });
  return outcomes;
}

const comparedMembers = ["name", "namespace", "headerQuery", "contentQuery"] as const;

function compare(definition: TopicDefinition, existing: TopicDefinition): Outcome {
  if (isSameDefinition(definition, existing)) return "unchanged";
  const different = comparedMembers.filter((member) => definition[member] !== existing[member]);
  return {
    code: "DUPLICATE_EXTERNAL_ID",
    message: `The external id "${definition.externalId}" belongs to a topic with a different ${different.join(", ")}.`,
  };
}

/** Codes of requests that may succeed without some of their definitions. */
const partialCodes: readonly string[] = [
  ...["BAD_FILTER", "BAD_EGRESS_NAME", "DUPLICATE_EXTERNAL_ID", "DUPLICATE_COMBINATION", "BODY_TOO_LARGE"],
];

/** Creates all topics together, or those of each half if one of them cannot be created. */
async function create(
  batch: readonly PlacedDefinition[],
  run: Run & { readonly outcomes: Map<PlacedDefinition, Outcome> },
): Promise<void> {
  const { client, dryRun, outcomes } = run;
  const body = { changes: batch.map(({ body: topic }) => ({ kind: "create", topic })), dryRun };
  try {
    const { json } = await client.call<TopicChangesReply>(changeTopics, { body });
    for (const [at, { outcome }] of json.results.entries()) {
      const one = batch[at];
      if (one !== undefined) outcomes.set(one, outcome === "unchanged" ? outcome : "created");
    }
  } catch (error) {
    if (!(error instanceof RequestError) || !partialCodes.includes(error.code)) throw error;
    const [first, ...others] = batch;
    if (first !== undefined && others.length === 0) outcomes.set(first, await explain(first, error, client));
    else {
      const half = Math.ceil(batch.length / 2);
      await create(batch.slice(0, half), run);
      await create(batch.slice(half), run);
    }
  }
}

/** Names the topic that holds the combination, if that is the reason. */
async function explain(
  { body }: PlacedDefinition,
  { code, message }: RequestError,
  client: OperationClient,
): Promise<Outcome> {
  if (code !== "DUPLICATE_COMBINATION") return { code, message };
  const combination = getCombination(toDefinition(body));
  const request = { body: { definitions: [body] } };
  const { holders } = (await client.call<TopicLookUpReply>(lookUpTopics, request)).json;
  const holder = holders.map(toDefinition).find((one) => getCombination(one) === combination);
  if (holder === undefined) return { code, message };
  return {
    code,
    message: `Its name, namespace and filters are those of the topic "${holder.externalId}".`,
  };
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
