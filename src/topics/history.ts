import { createCursorFormat } from "@topicsync/lib/cursor";
import { maxPageBytes, measureRecords, recordsPerRead } from "@topicsync/lib/page-bytes";
import { getDetailsId, type StoredDetails } from "./details/details.ts";
import type { TopicDetailsStore } from "./details/store.ts";
import type { Namespaces } from "../users/rights.ts";
import type { TopicQuery } from "./listing.ts";
import type { Source, Topic, VersionAction } from "./topic.ts";

/** How a version ended. */
interface VersionEnd {
  readonly on: Date;
  readonly by: Source;
  readonly as: VersionAction | "retired" | "disabled";
}

/** A version of a topic. It was stored at `topic.updatedOn`. */
export interface TopicVersion {
  readonly topic: Topic;
  /** Undefined: it is the current one. */
  readonly ended: VersionEnd | undefined;
  /** It was never visible: the batch that stored it replaced it. */
  readonly isTransient: boolean;
}

/** Details as a user wrote them. */
export interface Description {
  readonly details: StoredDetails;
  /** What they replaced; undefined if that is not known. */
  readonly before: StoredDetails | undefined;
}

/** What the descriptions of an external id are sorted by, the latest first. */
export type DescriptionSortKey = readonly [changedOn: Date, id: string];

export const toDescriptionSortKey = (details: StoredDetails): DescriptionSortKey => [
  details.changedOn,
  getDetailsId(details),
];

/** What the versions of an external id are sorted by, the latest first. */
export type VersionSortKey = readonly [endedOn: Date, version: number, id: string];

/** Which topics to list as they were. */
type PastTopicQuery = Pick<
  TopicQuery,
  "externalIds" | "name" | "namePrefix" | "namespace" | "namespaces" | "source"
>;

/** Which entries of a history to read. What is elsewhere does not exist for the reader. */
export interface HistoryPlace<Key> {
  readonly namespaces: Namespaces;
  readonly after: Key | undefined;
  readonly limit: number;
}

/** Reads topics as they were. Every function throws UnavailableError. */
export interface TopicHistory {
  /**
   * Returns at most `limit` versions after a sort key, of every topic that ever had the external id, under
   * which the current one is also found in its history before a rename.
   */
  readVersions(externalId: string, from: HistoryPlace<VersionSortKey>): Promise<TopicVersion[]>;
  /** Returns at most `limit` descriptions after a sort key, of the same topics. */
  readDescriptions(externalId: string, from: HistoryPlace<DescriptionSortKey>): Promise<Description[]>;
  /** Finds the details of these external ids that were in force at a time, in no order. */
  findDetailsAt(externalIds: readonly string[], at: Date): Promise<StoredDetails[]>;
  /** Finds a version of the topic that has an external id, or had it last. */
  findVersion(externalId: string, version: number): Promise<TopicVersion | undefined>;
  /** Finds the version of a topic that was in force at a time. */
  findAt(externalId: string, at: Date): Promise<TopicVersion | undefined>;
  /** Returns the topics at a time, sorted by external id, after one of these. */
  readAt(
    at: Date,
    query: PastTopicQuery,
    from: { readonly after: string | undefined; readonly limit: number },
  ): Promise<{ readonly versions: readonly TopicVersion[]; readonly next: string | undefined }>;
}

const cursors = createCursorFormat("topic-history", ["date", "integer", "string", "date", "string"]);

interface VersionPage {
  readonly versions: readonly TopicVersion[];
  /** The cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** A version of a topic, or of its details. */
export type HistoryEntry = TopicVersion | Description;

interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  readonly next: string | undefined;
}

/**
 * Returns a page of the history of an external id in some namespaces, which are all that its cursor is made
 * of. Throws a RejectionError for a bad cursor.
 */
export async function readHistoryPage(
  history: Pick<TopicHistory, "readVersions" | "readDescriptions">,
  externalId: string,
  { namespaces, after, limit }: Omit<HistoryPlace<string>, "after"> & { readonly after?: string | undefined },
): Promise<HistoryPage> {
  let place = after === undefined ? start : toPlace(cursors.decode(after));
  const entries: HistoryEntry[] = [];
  let [bytes, hasMore] = [0, true];
  while (hasMore && entries.length < limit && bytes < maxPageBytes) {
    // One extra entry of each kind tells whether there is a next one.
    const wanted = Math.min(limit - entries.length, recordsPerRead);
    const [versions, descriptions] = await Promise.all([
      history.readVersions(externalId, { namespaces, after: place.version, limit: wanted + 1 }),
      history.readDescriptions(externalId, { namespaces, after: place.description, limit: wanted + 1 }),
    ]);
    const merged = mergeEntries(versions, descriptions);
    const some = merged.slice(0, wanted);
    entries.push(...some);
    bytes += measureRecords(some);
    hasMore = merged.length > wanted;
    place = some.reduce(movePlace, place);
  }
  return { entries, next: hasMore ? cursors.encode(fromPlace(place)) : undefined };
}

/** Merges two lists by the time when what they say was stored, the latest first; both keep their order. */
function mergeEntries(
  versions: readonly TopicVersion[],
  descriptions: readonly Description[],
): HistoryEntry[] {
  const merged: HistoryEntry[] = [];
  const left = [...descriptions];
  for (const version of versions) {
    const later = left.findIndex(({ details }) => details.changedOn < version.topic.updatedOn);
    merged.push(...left.splice(0, later === -1 ? left.length : later), version);
  }
  return [...merged, ...left];
}

/** The last entries that were read of both kinds. */
interface Place {
  readonly version: VersionSortKey | undefined;
  readonly description: DescriptionSortKey | undefined;
}

const start: Place = { version: undefined, description: undefined };

const movePlace = (place: Place, entry: HistoryEntry): Place =>
  "details" in entry
    ? { ...place, description: toDescriptionSortKey(entry.details) }
    : { ...place, version: toVersionSortKey(entry) };

const fromPlace = ({ version = [atEnd, 0, ""], description = [atEnd, ""] }: Place) =>
  [...version, ...description] as const;

const toPlace = ([endedOn, number, id, changedOn, detailsId]: ReturnType<typeof fromPlace>): Place => ({
  version: [endedOn, number, id],
  description: [changedOn, detailsId],
});

const pastCursors = createCursorFormat("topics-at", ["string"]);

/** Returns a page of the topics at a time. Throws a RejectionError for a bad cursor. */
export async function readPageAt(
  history: Pick<TopicHistory, "readAt">,
  at: Date,
  query: PastTopicQuery,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<VersionPage> {
  const [externalId] = after === undefined ? [] : pastCursors.decode(after);
  const page = await history.readAt(at, query, {
    after: externalId,
    limit: Math.min(limit, recordsPerRead),
  });
  return { versions: page.versions, next: page.next && pastCursors.encode([page.next]) };
}

/** After every time. */
const never = new Date(Date.UTC(9999, 11, 31));
/** Before the latest entry in the order of the history. */
const atEnd = new Date(never.getTime() + 1);

export const toVersionSortKey = ({ topic, ended }: TopicVersion): VersionSortKey => [
  ended?.on ?? never,
  topic.version,
  topic.id,
];

/** Streams the topics at a time, sorted by external id. */
export async function* streamTopicsAt(
  history: Pick<TopicHistory, "readAt">,
  at: Date,
  query: PastTopicQuery,
): AsyncGenerator<TopicVersion> {
  let after: string | undefined;
  do {
    const { versions, next } = await history.readAt(at, query, { after, limit: topicsPerPage });
    yield* versions;
    after = next;
  } while (after !== undefined);
}

const topicsPerPage = 1_000;

/** Finds details as they were at a time. */
export const toDetailsAt = (
  history: Pick<TopicHistory, "findDetailsAt">,
  at: Date,
): Pick<TopicDetailsStore, "find"> => ({
  find: (externalIds) => history.findDetailsAt(externalIds, at),
});
