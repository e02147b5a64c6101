import { RefusalError } from "../lib/errors.ts";
import { decodeCursor, encodeCursor, type Mark, type Place, type Way } from "./list-cursor.ts";
import type { ListedTopic, Source, TopicCondition } from "./topic.ts";

/** Which topics are meant, and in which order. What is absent does not narrow the choice. */
export interface TopicQuery {
  readonly state: TopicCondition;
  /** Of stored topics, without a search. */
  readonly way?: Way | undefined;
  /** How the external id begins, or the name of a stored topic. */
  readonly search?: string | undefined;
  readonly namespace?: string | undefined;
  readonly source?: Source["kind"] | undefined;
}

/** Some topics next to each other in an order. */
export interface TopicStretch {
  /** Those of them that are meant. */
  readonly topics: readonly ListedTopic[];
  /** What was looked at last; undefined at the end. */
  readonly last: Mark | undefined;
}

/** Reads stored and retired topics by their indexes. Every function throws UnavailableError. */
export interface TopicReader {
  /**
   * Looks at the records behind a place, so few that the store answers soon however rare is what is meant, and gives at
   * most `limit`.
   */
  read(
    query: TopicQuery,
    from: { readonly way: Way; readonly behind: Place | undefined; readonly limit: number },
  ): Promise<TopicStretch>;
  /** The place of a record in an order; undefined when it is not there any more. */
  placeOf(query: TopicQuery, way: Way, id: string): Promise<Place | undefined>;
  /** The topic of this external id, or else the stored one of this sys_id. */
  find(id: string): Promise<ListedTopic | undefined>;
}

/** A part of a listing. */
export interface TopicPage {
  readonly topics: readonly ListedTopic[];
  /** Where the next page begins; undefined at the end. A page that is short, or empty, may have one. */
  readonly next: string | undefined;
}

/** Lists topics. */
export interface TopicListing {
  /**
   * The next topics behind a cursor, at most `limit`. Where only some are meant, it looks for a twentieth of a second: with
   * little among much, a page has fewer, and `next` goes on. Throws a RefusalError for a bad cursor, and UnavailableError.
   */
  page(
    query: TopicQuery,
    from: { readonly after?: string | undefined; readonly limit: number },
  ): Promise<TopicPage>;
  /** See TopicReader. */
  find(id: string): Promise<ListedTopic | undefined>;
}

const searchMs = 50;

/** Makes the listing. */
export function createTopicListing(reader: TopicReader): TopicListing {
  /** The ways that are left from a cursor on, and where in the first of them it is. */
  async function placeIn(
    query: TopicQuery,
    after: string | undefined,
  ): Promise<{ ways: Way[]; behind: Place | undefined }> {
    const all = waysOf(query);
    if (after === undefined) return { ways: all, behind: undefined };
    const cursor = decodeCursor(after);
    const at = cursor === undefined ? -1 : all.indexOf(cursor.way);
    if (cursor === undefined || at === -1)
      throw badCursor("is not a cursor that a listing in this order gave");
    const { way, record, place } = cursor;
    const ways = all.slice(at);
    if (record === undefined) return { ways, behind: place };
    const found = await reader.placeOf(query, way, record.id);
    if (found === undefined)
      throw badCursor("is of a topic that is not there any more; begin with the first page");
    return { ways, behind: found.slice(0, record.values) };
  }

  return {
    find: (id) => reader.find(id),

    async page(query, { after, limit }) {
      const until = isWhole(query) ? Infinity : performance.now() + searchMs;
      const topics: ListedTopic[] = [];
      let { ways, behind } = await placeIn(query, after);
      for (;;) {
        const [way, ...others] = ways;
        if (way === undefined) return { topics, next: undefined };
        const stretch = await reader.read(query, { way, behind, limit: limit - topics.length });
        topics.push(...stretch.topics);
        behind = stretch.last?.place;
        if (behind === undefined) ways = others;
        if (topics.length < limit && performance.now() < until) continue;
        const [next] = ways;
        return { topics, next: next && encodeCursor(next, stretch.last) };
      }
    },
  };
}

/** Whether every record that is looked at is meant. */
const isWhole = ({ state, search, namespace, source }: TopicQuery): boolean =>
  state === "stored" && search === undefined && namespace === undefined && source === undefined;

/** The orders that a list goes through, one after another. */
function waysOf({ state, way = "externalId", search }: TopicQuery): Way[] {
  if (search !== undefined) return state === "stored" ? ["externalId", "name"] : ["externalId"];
  return state === "stored" ? [way] : ["-retired"];
}

const badCursor = (message: string): RefusalError =>
  new RefusalError("SCHEMA_VIOLATION", "The cursor cannot be used.", [{ path: "/after", message }]);
