import { UnavailableError } from "@topicsync/lib/errors";
import { findFilterErrors, type FilterTexts } from "@topicsync/filters";
import { toDefinition } from "../../../topics/topic.ts";
import type { OperationClient } from "../../client/operation-client.ts";
import { findDefinitions, maxPageSize } from "../../client/topics.ts";
import { countDefinitions, openSource, readDefinitionBatches } from "../../input/definitions.ts";
import { formatFilterError } from "../../output/caret.ts";
import { printError } from "../../output/output.ts";
import type { ProposedChange } from "./impact-preview.ts";

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
  client: OperationClient,
  { topic: externalId, headerQuery, contentQuery }: ChangedFilters & { readonly topic: string },
): Promise<ProposedChange[] | undefined> {
  const before = (await findDefinitions(client, [externalId])).get(externalId);
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
  return errors.length > 0 ? undefined : [{ externalId, namespace: before?.namespace, before, after }];
}

/**
 * Compares the definitions in files with the stored topics, and returns those whose filters differ. Prints
 * the faults and returns undefined if there are any.
 */
export async function readFileChanges(
  client: OperationClient,
  files: readonly string[],
): Promise<ProposedChange[] | undefined> {
  const sources = await Promise.all(files.map(openSource));
  if ((await countDefinitions(sources, "previewed")) === undefined) return undefined;
  const changes: ProposedChange[] = [];
  for await (const batch of readDefinitionBatches(sources, maxPageSize)) {
    if (client.abort.aborted) throw new UnavailableError("stopped before all definitions were read");
    const definitions = batch.map(({ body }) => toDefinition(body));
    const stored = await findDefinitions(
      client,
      definitions.map(({ externalId }) => externalId),
    );
    for (const { externalId, namespace, headerQuery, contentQuery } of definitions) {
      const before = stored.get(externalId);
      if (before?.headerQuery === headerQuery && before.contentQuery === contentQuery) continue;
      changes.push({ externalId, namespace, before, after: { headerQuery, contentQuery } });
    }
  }
  return changes;
}
