import { currentDate } from "@topicsync/lib/platform";
import type { TopicUsageView } from "../../schemas/topics/usage.ts";
import type { ListedTopic, Topic } from "./topic.ts";

/** The events that matched a topic. */
export interface TopicUsage {
  /** The sys_id; absent if it was not known. */
  readonly topicId?: string;
  /** When the last ones were counted. */
  readonly lastOn: Date;
  readonly events: number;
}

/** When events were counted, by any instance. There may be gaps in between. */
export interface CountingSpan {
  readonly since: Date;
  readonly until: Date;
}

/** Every function throws UnavailableError. */
export interface TopicUsageStore {
  /** Adds events to the counts of topics. If it fails, some may be added. */
  add(counts: readonly { readonly externalId: string; readonly matches: number }[], on: Date): Promise<void>;
  /** Remembers that events were counted from one time to another. */
  noteCounting(span: CountingSpan): Promise<void>;
  findCounting(): Promise<CountingSpan | undefined>;
  /** Finds the usage of the last topics that had these external ids and matched; see `findUsage`. */
  find(externalIds: readonly string[]): Promise<ReadonlyMap<string, TopicUsage>>;
}

/** Converts the usage of a topic to what HTTP and the command line show. */
export const toUsageView = (
  externalId: string,
  usage: TopicUsage | undefined,
  counting: CountingSpan | undefined,
): TopicUsageView => ({
  externalId,
  lastEventOn: usage?.lastOn.toISOString() ?? null,
  events: usage?.events ?? 0,
  counted: toCountingView(counting),
});

const toCountingView = (counting: CountingSpan | undefined): TopicUsageView["counted"] =>
  counting === undefined
    ? null
    : { since: counting.since.toISOString(), until: counting.until.toISOString() };

/** Finds the usage of topics by their external ids: none of another topic that had it before. */
export async function findUsage(
  store: Pick<TopicUsageStore, "find">,
  topics: readonly Pick<Topic, "externalId" | "id">[],
): Promise<ReadonlyMap<string, TopicUsage>> {
  const ids = new Map(topics.map(({ externalId, id }) => [externalId, id]));
  const found = await store.find([...ids.keys()]);
  return new Map(
    [...found].filter(([externalId, { topicId = ids.get(externalId) }]) => topicId === ids.get(externalId)),
  );
}

/** Adds the number of their events, and the time of the last one, to topics. */
export async function addUsage<T extends ListedTopic>(
  store: Pick<TopicUsageStore, "find">,
  topics: readonly T[],
): Promise<T[]> {
  const usage = await findUsage(
    store,
    topics.map(({ topic }) => topic),
  );
  return topics.map((one) => {
    const found = usage.get(one.topic.externalId);
    return found === undefined ? one : { ...one, lastEventOn: found.lastOn, events: found.events };
  });
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns the selection of the topics that existed for a time (`30d`) without an event in it, and since when
 * events were counted. If they were not counted for so long, nothing is known, and none is selected.
 */
export async function selectUnused(store: TopicUsageStore, duration: string) {
  const counting = await store.findCounting();
  const since = new Date(
    currentDate().getTime() - Number(duration.slice(0, -1)) * (unitMs[duration.slice(-1)] ?? 0),
  );
  const isKnown = counting !== undefined && counting.since <= since;
  const isUnused = ({ topic, lastEventOn }: ListedTopic): boolean =>
    topic.createdOn <= since && (lastEventOn === undefined || lastEventOn < since);
  return {
    counted: toCountingView(counting),
    select: async (topics: readonly ListedTopic[]): Promise<ListedTopic[]> =>
      isKnown ? (await addUsage(store, topics)).filter(isUnused) : [],
  };
}
