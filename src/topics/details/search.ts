import { RejectionError } from "@topicsync/lib/errors";
import { includesNamespace, type Namespaces } from "../../users/rights.ts";
import { showVersion, toWords, type StoredDetails } from "./details.ts";
import type { DetailsConditions, DetailsQuery, DetailsSearch, TopicDetailsStore } from "./store.ts";
import type { TopicOrder, TopicQuery, TopicReader } from "../listing.ts";
import type { ListedTopic } from "../topic.ts";

/** Where topics are listed from. */
export interface TopicSources {
  readonly topicReader: TopicReader;
  readonly topicDetails: TopicDetailsStore;
}

const byExternalId: TopicOrder = { sort: "externalId", descending: false };
const minDetailsPerBatch = 200;
const maxDetailsPerBatch = 1_000;

/**
 * Returns at most `limit` topics after an external id, sorted by it, whose details a search finds. Throws
 * UnavailableError.
 */
export async function findBySearch(
  topicReader: TopicReader,
  { search, query }: { readonly search: DetailsSearch; readonly query: TopicQuery },
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<ListedTopic[]> {
  const batchSize = Math.min(Math.max(limit, minDetailsPerBatch), maxDetailsPerBatch);
  const found: ListedTopic[] = [];
  for await (const batch of search({ after, batchSize })) {
    const externalIds = batch.map(({ externalId }) => externalId);
    const topics = await topicReader.readSorted(
      { ...query, externalIds },
      { order: byExternalId, after: undefined, limit: externalIds.length },
    );
    const byId = new Map(topics.map((one) => [one.topic.externalId, one]));
    for (const details of batch) {
      const listed = byId.get(details.externalId);
      if (listed !== undefined) found.push({ ...listed, details });
    }
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

/** Adds the details of topics. A reader sees of those from a foreign namespace which version they have. */
export async function addDetails(
  topicDetails: Pick<TopicDetailsStore, "find">,
  topics: readonly ListedTopic[],
  namespaces: Namespaces,
): Promise<ListedTopic[]> {
  const found = await topicDetails.find(topics.map(({ topic }) => topic.externalId));
  const byId = new Map(found.map((one) => [one.externalId, one]));
  return topics.map((listed) => {
    const details = byId.get(listed.topic.externalId);
    if (details === undefined) return listed;
    const isVisible = includesNamespace(namespaces, details.namespace);
    return { ...listed, details: isVisible ? details : showVersion(details.version) };
  });
}

/** Returns those of some topics whose details do not have these words, as `search` finds them. */
export async function dropFound(
  topicDetails: Pick<TopicDetailsStore, "find">,
  topics: readonly ListedTopic[],
  { words = [], namespaces }: Pick<DetailsQuery, "words" | "namespaces">,
): Promise<ListedTopic[]> {
  const details = await topicDetails.find(topics.map(({ topic }) => topic.externalId));
  const found = details.filter((one) => includesNamespace(namespaces, one.namespace) && hasWords(one, words));
  const ids = new Set(found.map(({ externalId }) => externalId));
  return topics.filter(({ topic }) => !ids.has(topic.externalId));
}

function hasWords({ words }: StoredDetails, wanted: readonly string[]): boolean {
  const prefix = wanted.at(-1);
  return (
    wanted.slice(0, -1).every((word) => words.includes(word)) &&
    (prefix === undefined || words.some((word) => word.startsWith(prefix)))
  );
}

const maxSearchWords = 10;

interface ConditionTexts extends DetailsConditions {
  /** Words. */
  readonly q?: string | undefined;
}

/**
 * Parses the conditions of a list that concern details, if there are any. Words alone are also searched for
 * without details. Throws a RejectionError.
 */
export function parseConditions({ q, owner, tag, label, lifecycle, set }: ConditionTexts): {
  readonly details?: Omit<DetailsQuery, "namespaces">;
  readonly search?: string;
} {
  const others = { owner, tag, label, lifecycle, set };
  const hasOthers = Object.values(others).some((value) => value !== undefined);
  if (q === undefined) return hasOthers ? { details: others } : {};
  const words = toWords(q);
  if (words.length === 0) throw createSearchRejection("must contain a letter or a digit");
  if (words.length > maxSearchWords) throw createSearchRejection(`must have at most ${maxSearchWords} words`);
  return { details: { ...others, words }, ...(!hasOthers && { search: q }) };
}

const createSearchRejection = (message: string): RejectionError =>
  new RejectionError("SCHEMA_VIOLATION", `The search ${message}.`, [{ path: "/q", message }]);
