import { RejectionError } from "@topicsync/lib/errors";
import type { FilterWarning } from "../../schemas/topics/check.ts";
import type { KnownTopicView, TopicSetView } from "../../schemas/topics/sets.ts";
import type { ReplacedDetails, StoredDetails } from "../topics/details/details.ts";
import type { StoreTransaction } from "../topics/stores.ts";
import type { Topic, TopicDefinition } from "../topics/topic.ts";
import type { Namespaces } from "../users/rights.ts";

/** A topic, its details, or both. */
export interface KnownTopic {
  readonly externalId: string;
  /** Undefined if no active topic has the external id. */
  readonly topic: Topic | undefined;
  readonly details: StoredDetails | undefined;
}

export interface TopicSet {
  readonly view: TopicSetView;
  /** Those that its topics have, or had. */
  readonly namespaces: readonly string[];
}

/** What a batch of an apply writes besides topics. */
export interface SetWrites {
  readonly set: string;
  readonly origin: string | undefined;
  /** Throws if the caller may not change the stored set; undefined: anybody may. */
  readonly check?: ((set: TopicSet) => void) | undefined;
  readonly apply: Pick<TopicSetView["applies"][number], "plan" | "revision" | "by" | "total">;
  readonly on: Date;
  readonly namespaces: readonly string[];
  /** How many more changes are stored. */
  readonly applied: number;
  /** Next versions of details. */
  readonly details: readonly StoredDetails[];
  /** Details of topics that were renamed. */
  readonly removedDetails: readonly StoredDetails[];
  /** What the history gets. */
  readonly replacedDetails: readonly ReplacedDetails[];
}

/** The store of sets. Every function throws UnavailableError. */
export interface TopicSetStore {
  /** The UUID of the database. */
  getDatabaseId(): string;
  /** See `confirmReads`. */
  getPrimary(): string | undefined;
  /**
   * Waits until everything of topics and details that was read from this primary is majority-committed.
   * Returns false if an election may have rolled some of it back.
   */
  confirmReads(primary: string | undefined): Promise<boolean>;
  find(name: string): Promise<TopicSet | undefined>;
  /** Lists sets with topics in these namespaces, by name. */
  list(namespaces: Namespaces): Promise<TopicSet[]>;
  /**
   * Writes in the transaction of the topics. Throws DetailsConflictError, a RejectionError if the set is
   * applied from another origin, and what `check` throws.
   */
  write(writes: SetWrites, transaction: StoreTransaction): Promise<void>;
}

/** What is stored of topics. Every function throws UnavailableError. */
export interface PlanReader {
  /** Streams the members of a set by external id, from after one, of some namespaces. */
  streamMembers(
    set: string,
    from: { readonly after: string | undefined; readonly namespaces: Namespaces },
  ): AsyncIterable<KnownTopic>;
  /** Finds topics and details by external id. */
  findKnown(externalIds: readonly string[]): Promise<KnownTopic[]>;
  /** Finds the topics that hold the combinations of these definitions, and perhaps others. */
  findHolders(definitions: readonly TopicDefinition[]): Promise<readonly TopicDefinition[]>;
}

/** What plans are made from, as far as its reader may see it. Every function throws UnavailableError. */
export interface PlanSource {
  /** The UUID of the database: a plan is for one. */
  readonly databaseId: string;
  findSet(name: string): Promise<{ readonly origin?: string | undefined } | undefined>;
  /** Streams the members of a set by external id. */
  streamMembers(set: string): AsyncIterable<KnownTopicView>;
  findKnown(externalIds: readonly string[]): Promise<KnownTopicView[]>;
  /** See PlanReader. */
  findHolders: PlanReader["findHolders"];
  /** Finds conditions of each definition that none of the last events meets. */
  findWarnings(definitions: readonly TopicDefinition[]): Promise<FilterWarning[][]>;
}

/** The rejection of files from another repository than the one that a set is applied from. */
export const createOriginRejection = (
  set: string,
  stored: string,
  given: string | undefined,
): RejectionError =>
  new RejectionError(
    "SET_ORIGIN_MISMATCH",
    `The set "${set}" is applied from ${stored}, and these files are from ${given ?? "an unknown origin"}. ` +
      "Choose another name for the set, or use --origin if it is the same repository.",
  );
