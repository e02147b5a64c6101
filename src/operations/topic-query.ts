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

const detailsConditions = ["q", "owner", "tag", "label", "lifecycle", "set"] as const;

type Name = keyof TopicListQuery;

/** Parameters that cannot be combined; `state` stands for another one than `active`. */
const conflicts: readonly (readonly [name: Name, others: readonly Name[]])[] = [
  // What earlier versions cannot be searched for.
  ["at", ["state", "sort", "search", "unusedFor", "q", "owner", "tag", "label", "lifecycle"]],
  ["unusedFor", ["state"]],
  ["search", detailsConditions],
  ["externalId", ["search", "q"]],
  ["name", ["search", "q"]],
  ["sort", ["state", ...detailsConditions, "search"]],
];

function checkCombinations(query: TopicListQuery): void {
  const isGiven = (name: Name): boolean =>
    name === "state" ? query.state !== "active" : query[name] !== undefined;
  for (const [name, others] of conflicts) {
    const other = isGiven(name) ? others.find(isGiven) : undefined;
    if (other === undefined) continue;
    const message = `cannot be combined with ${other === "state" ? `state=${query.state}` : other}`;
    throw new RejectionError("SCHEMA_VIOLATION", "The query is not valid.", [{ path: `/${name}`, message }]);
  }
}

function parseOrder(sort: NonNullable<TopicListQuery["sort"]>): TopicOrder {
  const descending = sort.startsWith("-");
  return { sort: (descending ? sort.slice(1) : sort) as TopicOrder["sort"], descending };
}
