import type { TopicView } from "../../schemas/topics/view.ts";
import type { Namespaces } from "../users/rights.ts";
import type { ListedTopic, Source } from "./topic.ts";

/**
 * Active topics are sorted by one of the first three, others by the time of their retirement, and what is
 * found by its details by external id.
 */
export type TopicSort = "externalId" | "name" | "changed" | "retired" | "details";

export interface TopicOrder {
  readonly sort: TopicSort;
  readonly descending: boolean;
}

/** Which topics to list. Absent members match every topic. */
export interface TopicQuery {
  readonly state: TopicView["state"];
  readonly externalIds?: readonly string[] | undefined;
  readonly externalIdPrefix?: string | undefined;
  readonly exceptExternalIdPrefix?: string | undefined;
  readonly name?: string | undefined;
  readonly namePrefix?: string | undefined;
  /** With `.*` at its end also those below it. */
  readonly namespace?: string | undefined;
  /** Only topics in one of these. */
  readonly namespaces: Namespaces;
  readonly source?: Source["kind"] | undefined;
}

/** What a topic is sorted by; no two topics of a list share it. */
export type TopicSortKey = readonly (string | Date)[];

/** Reads active and retired topics, for lists. Every function throws UnavailableError. */
export interface TopicReader {
  /** Returns at most `limit` topics after a sort key. */
  readSorted(
    query: TopicQuery,
    from: { readonly order: TopicOrder; readonly after: TopicSortKey | undefined; readonly limit: number },
  ): Promise<ListedTopic[]>;
  /** Finds the active or else the latest retired topic of an external id. */
  find(externalId: string): Promise<ListedTopic | undefined>;
  /**
   * Finds the active or disabled topic of a sys_id, or else as `find`. Anybody can choose an external id that
   * looks like the sys_id of another topic, but nobody a sys_id.
   */
  findByAnyId(id: string): Promise<ListedTopic | undefined>;
}
