import type { Event } from "../../schemas/pick.ts";
import type { FilterWarning } from "../../schemas/topic-check.ts";
import type { EventType, EventTypeSummary, TypeStatistics } from "./event-type.ts";
import type { FilterTexts } from "../matching/filter/topic-filters.ts";
import type { TypeChanges } from "./learner.ts";

export interface StoredEventType {
  readonly name: string;
  /** Grows with each change; 0 if the type is not stored yet. */
  readonly version: number;
  /** All events, also those of generations that are forgotten. */
  readonly events: number;
  readonly firstOn: Date;
  /** What was seen last, and what was seen before. */
  readonly generations: readonly TypeStatistics[];
}

/** Every function throws UnavailableError. */
export interface EventTypeStore {
  /** All types, by name. */
  list(): Promise<EventTypeSummary[]>;
  find(names: readonly string[]): Promise<StoredEventType[]>;
  /** Stores a type as the next version. Returns false if the stored version is not the given one. */
  replace(type: StoredEventType): Promise<boolean>;
  /** Counts the types, up to a limit. */
  countUpTo(limit: number): Promise<number>;
  /** Returns whether it was stored. */
  delete(name: string): Promise<boolean>;
}

export interface LearningResult {
  readonly events: number;
  readonly types: number;
  /** Records that are not events. */
  readonly rejected: number;
}

/** Learned event types. Every function throws UnavailableError. */
export interface EventTypeService {
  /** All types, the most frequent first. */
  list(): Promise<EventTypeSummary[]>;
  find(name: string): Promise<EventType | undefined>;
  /** Learns from all of these events; undefined is what is not an event. */
  learnAll(events: AsyncIterable<Event | undefined>): Promise<LearningResult>;
  /** Adds what was seen of a type. Nothing is stored if there are too many types already. */
  record(changes: TypeChanges): Promise<void>;
  /**
   * Compares the filters of a topic with what was learned up to some seconds ago. Invalid filters have no
   * warnings.
   */
  findWarnings(filters: FilterTexts): Promise<FilterWarning[]>;
  /** Returns whether it was known. */
  forget(name: string): Promise<boolean>;
}
