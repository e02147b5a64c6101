import { RejectionError } from "@topicsync/lib/errors";
import type { TopicListQuery } from "../../schemas/topics/list.ts";
import { parseConditions } from "../topics/details/search.ts";
import type { TopicOrder } from "../topics/listing.ts";
import type { TopicPageQuery } from "../topics/topic-pages.ts";

interface ParsedTopicQuery extends Omit<TopicPageQuery, "namespaces"> {
  readonly unusedFor: string | undefined;
  /** The topics as they were at this time. */
  readonly at: Date | undefined;
  readonly page: { readonly after: string | undefined; readonly limit: number };
}

/** Parses the query of the list of topics. Throws a RejectionError. */
export function parseTopicQuery(query: TopicListQuery): ParsedTopicQuery {
  checkCombinations(query);
  const { state, sort, search, namespace, source, limit, after, unusedFor, at } = query;
  return {
    unusedFor,
    at: at === undefined ? undefined : new Date(at),
    ...{ state, namespace, source, search, order: sort && parseOrder(sort) },
    externalIds: query.externalId === undefined ? undefined : [query.externalId],
    ...parseName(query.name),
    ...parseConditions(query),
    page: { after, limit },
  };
}

/** A name, or with a star at its end the beginning of one. */
export const parseName = (name: string | undefined): Pick<TopicPageQuery, "name" | "namePrefix"> =>
  name?.endsWith("*") === true ? { namePrefix: name.slice(0, -1) } : { name };

function checkCombinations(query: TopicListQuery): void {
  const { state, sort, search, unusedFor, at } = query;
  if (at !== undefined) requireAlone(query);
  if (unusedFor !== undefined && state !== "active")
    throw createCombinationError("unusedFor", `state=${state}`);
  const other =
    detailsConditions.find((name) => query[name] !== undefined) ??
    (search === undefined ? undefined : "search");
  if (other !== "search" && other !== undefined && search !== undefined)
    throw createCombinationError("search", other);
  const named = (["externalId", "name"] as const).find((name) => query[name] !== undefined);
  const searched = (["search", "q"] as const).find((name) => query[name] !== undefined);
  if (named !== undefined && searched !== undefined) throw createCombinationError(named, searched);
  if (sort !== undefined && (state !== "active" || other !== undefined))
    throw createCombinationError("sort", state === "active" ? (other ?? "") : `state=${state}`);
}

/** What earlier versions cannot be searched for. */
function requireAlone(query: TopicListQuery): void {
  const other = (["sort", "search", "unusedFor", "q", "owner", "tag", "label", "lifecycle"] as const).find(
    (name) => query[name] !== undefined,
  );
  if (query.state !== "active") throw createCombinationError("at", `state=${query.state}`);
  if (other !== undefined) throw createCombinationError("at", other);
}

const detailsConditions = ["q", "owner", "tag", "label", "lifecycle", "set"] as const;

const createCombinationError = (name: string, other: string): RejectionError =>
  new RejectionError("SCHEMA_VIOLATION", "The query is not valid.", [
    { path: `/${name}`, message: `cannot be combined with ${other}` },
  ]);

function parseOrder(sort: NonNullable<TopicListQuery["sort"]>): TopicOrder {
  const descending = sort.startsWith("-");
  return { sort: (descending ? sort.slice(1) : sort) as TopicOrder["sort"], descending };
}
