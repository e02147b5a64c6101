import type { ImpactChange } from "../../plans/impact/changes.ts";
import { UnavailableError } from "../../lib/errors.ts";
import { findFilterErrors, type FilterTexts } from "../../matching/filter/topic-filters.ts";
import { importBatchSize } from "../../topics/importing.ts";
import { toDefinition } from "../../topics/topic.ts";
import type { CommandContext } from "../context.ts";
import { countDefinitions, openSource, readDefinitionBatches } from "../input/definitions.ts";
import { formatFilterError } from "../output/caret.ts";
import { printError, sanitize } from "../output/output.ts";

/** New filters of a topic. */
export interface ChangedFilters extends FilterTexts {
  /** Its external id. */
  readonly topic?: string;
}

/**
 * Compares the given filters with the stored ones; a filter that is not given stays. Prints the errors and
 * returns undefined if the filters are invalid.
 */
export async function readTopicChange(
  { services }: CommandContext,
  { topic: externalId, headerQuery, contentQuery }: ChangedFilters & { readonly topic: string },
): Promise<ImpactChange[] | undefined> {
  const { topicStore } = await services();
  const [before] = await topicStore.findDefinitions([externalId]);
  const after = {
    headerQuery: headerQuery ?? before?.headerQuery ?? "",
    contentQuery: contentQuery ?? before?.contentQuery ?? "",
  };
  const errors = findFilterErrors(after);
  for (const error of errors)
    for (const line of [
      `the ${error.member ?? "filter"} is invalid:`,
      ...formatFilterError(after[error.member ?? "contentQuery"], error),
    ])
      printError(line);
  return errors.length > 0 ? undefined : [{ externalId, before, after }];
}

/**
 * Compares the definitions in files with the stored topics, and returns those whose filters differ. Prints
 * the faults and returns undefined if there are any.
 */
export async function readFileChanges(
  { services, abort }: CommandContext,
  files: readonly string[],
): Promise<ImpactChange[] | undefined> {
  const sources = await Promise.all(files.map(openSource));
  if ((await countDefinitions(sources, "previewed")) === undefined) return undefined;
  const { topicStore } = await services();
  const places = new Map<string, string>();
  const changes: ImpactChange[] = [];
  let repeated = false;
  for await (const batch of readDefinitionBatches(sources, importBatchSize)) {
    if (abort.aborted) throw new UnavailableError("stopped before all definitions were read");
    const stored = await topicStore.findDefinitions(batch.map(({ body }) => body.externalId));
    const byId = new Map(stored.map((one) => [one.externalId, one]));
    for (const { place, body } of batch) {
      const { externalId, headerQuery, contentQuery } = toDefinition(body);
      const first = places.get(externalId);
      if (first !== undefined) {
        printError(sanitize(`${place}: defines "${externalId}", which ${first} defines already`));
        repeated = true;
      }
      places.set(externalId, place);
      const before = byId.get(externalId);
      if (before?.headerQuery === headerQuery && before.contentQuery === contentQuery) continue;
      changes.push({ externalId, before, after: { headerQuery, contentQuery } });
    }
  }
  return repeated ? undefined : changes;
}
