import type { StoredDetails } from "./details.ts";

/** The stored details do not have the version before the one to be written. */
export class DetailsConflictError extends Error {
  override readonly name = "DetailsConflictError";

  constructor(options?: ErrorOptions) {
    super("the details of a topic were changed since they were read", options);
  }
}

/** The store of the details of topics. Every function throws UnavailableError. */
export interface TopicDetailsStore {
  /** Finds the details of these topics, in no order; none for topics without details. */
  find(externalIds: readonly string[]): Promise<StoredDetails[]>;
  /** Stores the next version of details. Throws DetailsConflictError. */
  replace(details: StoredDetails): Promise<void>;
  /** Removes details, unless they were changed since they were read. Returns whether they were removed. */
  remove(details: StoredDetails): Promise<boolean>;
  /** Streams the members of a set, by external id. */
  streamSet(set: string): AsyncGenerator<StoredDetails>;
  /** Streams all details, by external id. */
  streamAll(): AsyncGenerator<StoredDetails>;
}
