import { createCursorFormat } from "../lib/cursor.ts";
import { maxPageBytes, measureRecords, recordsPerRead } from "../lib/page-bytes.ts";
import type { TopicQuery } from "./listing.ts";
import type { Source, Topic, VersionAction } from "./topic.ts";

/** How a version ended. */
export interface VersionEnd {
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

/** What the versions of an external id are sorted by, the latest first. */
export type VersionSortKey = readonly [endedOn: Date, version: number, id: string];

/** Which topics to list as they were. */
export type PastTopicQuery = Pick<
  TopicQuery,
  "externalIds" | "name" | "namePrefix" | "namespace" | "namespaces" | "source"
>;

/** Reads topics as they were. Every function throws UnavailableError. */
export interface TopicHistory {
  /**
   * Returns at most `limit` versions after a sort key, of every topic that ever had the external id, under
   * which the current one is also found in its history before a rename.
   */
  readVersions(
    externalId: string,
    from: { readonly after: VersionSortKey | undefined; readonly limit: number },
  ): Promise<TopicVersion[]>;
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

const cursors = createCursorFormat("topic-versions", ["date", "integer", "string"]);

interface VersionPage {
  readonly versions: readonly TopicVersion[];
  /** The cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** Returns a page of the history of an external id. Throws a RejectionError for a bad cursor. */
export async function readVersionPage(
  history: Pick<TopicHistory, "readVersions">,
  externalId: string,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<VersionPage> {
  const key = after === undefined ? undefined : cursors.decode(after);
  const found: TopicVersion[] = [];
  let [bytes, hasMore] = [0, true];
  for (let from = key; hasMore && found.length <= limit && bytes < maxPageBytes;) {
    // One extra version tells whether there is a next page.
    const wanted = Math.min(limit + 1 - found.length, recordsPerRead);
    const versions = await history.readVersions(externalId, { after: from, limit: wanted });
    found.push(...versions);
    bytes += measureRecords(versions);
    hasMore = versions.length === wanted;
    const last = versions.at(-1);
    from = last && toVersionSortKey(last);
  }
  const shown = found.slice(0, limit);
  const last = found.length > limit || hasMore ? shown.at(-1) : undefined;
  return { versions: shown, next: last && cursors.encode(toVersionSortKey(last)) };
}

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

export const toVersionSortKey = ({ topic, ended }: TopicVersion): VersionSortKey => [
  ended?.on ?? never,
  topic.version,
  topic.id,
];

/** Streams the topics at a time, sorted by external id. */
export async function* streamTopicsAt(
  history: Pick<TopicHistory, "readAt">,
  at: Date,
  query: PastTopicQuery = {},
): AsyncGenerator<TopicVersion> {
  let after: string | undefined;
  do {
    const { versions, next } = await history.readAt(at, query, { after, limit: topicsPerPage });
    yield* versions;
    after = next;
  } while (after !== undefined);
}

const topicsPerPage = 1_000;
