import type { TopicListQuery } from "../../../schemas/topics/list.ts";
import type { Namespaces } from "../../users/rights.ts";
import type { ReplacedDetails, StoredDetails } from "./details.ts";

/** The stored details do not have the version before the one to be written. */
export class DetailsConflictError extends Error {
  override readonly name = "DetailsConflictError";

  constructor(options?: ErrorOptions) {
    super("the details were changed since they were read", options);
  }
}

/** Conditions on members of details. Absent ones match all details. */
export type DetailsConditions = {
  readonly [Name in "owner" | "tag" | "label" | "lifecycle" | "set"]?: TopicListQuery[Name] | undefined;
};

/** Which details to find. */
export interface DetailsQuery extends DetailsConditions {
  /** All of these words; the last one is a prefix. */
  readonly words?: readonly string[] | undefined;
  /** Only details that were written in one of these. */
  readonly namespaces: Namespaces;
}

/** Streams what a search finds, sorted by external id, from after one. */
export type DetailsSearch = (from: {
  readonly after: string | undefined;
  readonly batchSize: number;
}) => AsyncGenerator<readonly StoredDetails[]>;

/** The store of the details of topics. Every function throws UnavailableError. */
export interface TopicDetailsStore {
  /** Finds the details of these topics, in no order; none for topics without details. */
  find(externalIds: readonly string[]): Promise<StoredDetails[]>;
  /** Stores the next version of details, and the replaced one in the history. Throws DetailsConflictError. */
  replace(details: StoredDetails, replaced: readonly ReplacedDetails[]): Promise<void>;
  /** Prepares a search. */
  search(query: DetailsQuery): DetailsSearch;
  /** Streams the members of a set, by external id. */
  streamSet(set: string): AsyncGenerator<StoredDetails>;
}
