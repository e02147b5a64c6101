import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import { UnavailableError } from "@topicsync/lib/errors";
import type { TopicList } from "../../../schemas/topics/list.ts";
import { maxLookUpIds, type KnownTopicView, type TopicLookUpReply } from "../../../schemas/topics/sets.ts";
import type { TopicView } from "../../../schemas/topics/view.ts";
import { listTopics } from "../../operations/topics.ts";
import { lookUpTopics } from "../../operations/topic-sets.ts";
import type { TopicDefinition } from "../../topics/topic.ts";
import type { TopicChoiceFlags } from "../commands/topics/choice.ts";
import { formatCount } from "../output/format.ts";
import { printError } from "../output/output.ts";
import { streamPages, type OperationClient } from "./operation-client.ts";

export const maxPageSize = 500;
const topicsPerMessage = 50_000;

export interface TopicChoice extends TopicChoiceFlags {
  /** The topics as they were at this time. */
  readonly at?: Date | undefined;
}

interface ReadOptions {
  readonly pageSize?: number;
  readonly onPage?: (page: TopicList) => void;
  /** Says how far it is, where that takes long. */
  readonly showsCount?: true;
}

/**
 * Reads all pages of the list of topics; of several external ids one after another. Throws an
 * UnavailableError once aborted.
 */
export async function* readTopics(
  client: OperationClient,
  { externalId: externalIds = [], search: q, at, ...flags }: TopicChoice,
  { pageSize = maxPageSize, onPage, showsCount }: ReadOptions = {},
): AsyncGenerator<TopicView> {
  const { state, name, namespace, source, owner, tag, label, lifecycle, set, unusedFor } = flags;
  const choice = { state, name, namespace, source, owner, tag, label, lifecycle, set, q, unusedFor };
  let read = 0;
  for (const externalId of externalIds.length === 0 ? [undefined] : externalIds.toSorted()) {
    const query = { ...choice, at: at?.toISOString(), externalId, limit: pageSize };
    for await (const page of streamPages<TopicList>(client, listTopics, { query })) {
      onPage?.(page);
      for (const topic of page.topics) {
        if (client.abort.aborted) throw new UnavailableError(`stopped after ${formatCount(read, "topic")}`);
        yield topic;
        read += 1;
        if (showsCount && read % topicsPerMessage === 0) printError(`  read ${formatCount(read, "topic")}`);
      }
    }
  }
}

/** Finds topics and details by external id. */
export async function findKnown(
  client: OperationClient,
  externalIds: readonly string[],
): Promise<KnownTopicView[]> {
  const found: KnownTopicView[] = [];
  for (const some of splitIntoBatches(externalIds, maxLookUpIds)) {
    const { json } = await client.call<TopicLookUpReply>(lookUpTopics, { body: { externalIds: some } });
    found.push(...json.topics);
  }
  return found;
}

/** Finds the definitions of active topics, by external id. */
export const findDefinitions = async (
  client: OperationClient,
  externalIds: readonly string[],
): Promise<ReadonlyMap<string, TopicDefinition>> =>
  new Map(
    (await findKnown(client, externalIds)).flatMap(({ externalId, topic }) =>
      topic === null ? [] : [[externalId, { ...topic, externalId }]],
    ),
  );

/** Warns of topics that match no event. */
export function warnInvalidFilters(count: number): void {
  if (count === 0) return;
  const skipped = formatCount(count, "topic");
  printError(`warning: skipped ${skipped} with invalid filters; \`topicsync filters check\` lists them`);
}
