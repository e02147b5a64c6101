import { FilterSyntaxError } from "../../matching/filter/filter.ts";
import type { EventRecord } from "../../matching/filter/record.ts";
import type { FilterTexts } from "../../matching/filter/topic-filters.ts";
import { createPicker } from "../../matching/picker/index.ts";
import { UnavailableError } from "../../lib/errors.ts";
import { createEgressNamingFromConfig } from "../../service/egress-naming.ts";
import type { EgressNaming } from "../../kafka/interface/egress-naming.ts";
import type { PickableTopic } from "../../topics/live/feed.ts";
import { streamTopicsAt, type TopicHistory } from "../../topics/history.ts";
import type { CommandContext } from "../context.ts";
import { formatCount } from "../output/format.ts";
import { printError } from "../output/output.ts";
import { createTopicProgress } from "../output/progress.ts";

/** A topic, without its filters. */
export interface PickedTopic extends Omit<PickableTopic, "headerQuery" | "contentQuery"> {
  /** Only of a topic as it was. */
  readonly version?: number;
}

/** The stored topics, indexed. */
export interface StoredTopics {
  /** Returns the topics that match an event, sorted by external id. */
  pick(event: unknown, record: EventRecord | undefined): PickedTopic[];
  readonly size: number;
  /** The filters of the requested topic, even if invalid; undefined if it does not exist. */
  readonly explainedFilters: FilterTexts | undefined;
  /** Undefined: no router is configured. */
  readonly naming: EgressNaming | undefined;
}

/** The topics at a time, with their versions. */
async function* streamPickableAt(
  history: Pick<TopicHistory, "readAt">,
  at: Date,
): AsyncGenerator<PickableTopic & { readonly version: number }> {
  for await (const { topic } of streamTopicsAt(history, at, { namespaces: "all" })) {
    const { externalId, name, namespace, headerQuery, contentQuery, id, version } = topic;
    yield { externalId, name, namespace, headerQuery, contentQuery, id, version };
  }
}

/**
 * Reads all topics, as they are or were at a time, and keeps the filters of one. Skips those with invalid
 * filters, with a warning.
 */
export async function loadTopics(
  { config: { kafka }, services, abort }: CommandContext,
  explainedId: string | undefined,
  at?: Date,
): Promise<StoredTopics> {
  const { topicReader, topicHistory } = await services();
  const picker = createPicker();
  const shown = new Map<string, PickedTopic>();
  const progress = createTopicProgress("reading topics", await topicReader.estimateCount());
  let explainedFilters: FilterTexts | undefined;
  let read = 0;
  const stored = at === undefined ? topicReader.streamPickable() : streamPickableAt(topicHistory, at);
  for await (const { headerQuery, contentQuery, ...topic } of stored) {
    if (abort.aborted) throw new UnavailableError(`stopped after ${read} topics`);
    read += 1;
    progress.at(read);
    if (topic.externalId === explainedId) explainedFilters = { headerQuery, contentQuery };
    try {
      picker.set(topic.externalId, { headerQuery, contentQuery });
      shown.set(topic.externalId, topic);
    } catch (error) {
      if (!(error instanceof FilterSyntaxError)) throw error;
    }
  }
  progress.end(`read ${formatCount(read, "topic")}`);
  warnSkipped(read - picker.size);
  return {
    pick: (event, record) =>
      picker
        .pick(event, record)
        .toSorted()
        .flatMap((externalId) => shown.get(externalId) ?? []),
    size: picker.size,
    explainedFilters,
    naming: createEgressNamingFromConfig(kafka),
  };
}

export function warnSkipped(count: number): void {
  if (count === 0) return;
  const skipped = formatCount(count, "topic");
  printError(`warning: skipped ${skipped} with invalid filters; \`topicsync filters check\` lists them`);
}
