import { createPicker, FilterSyntaxError } from "@topicsync/filters/picker";
import type { IndexedTopic } from "../../topics/live/feed.ts";
import type { EventSink, ReadEvent } from "./events.ts";

/** Counts of the events of a type. */
export interface TypeCount {
  events: number;
  /** Those that belong to no topic. */
  unmatched: number;
}

/** Types beyond these are counted together. */
const maxTypes = 1_000;

/** Counts the events of each topic. */
export class Backtest implements EventSink {
  readonly #picker = createPicker();
  readonly #counts = new Map<string, number>();
  readonly #types = new Map<string, TypeCount>();
  /** How many topics were skipped because their filters are invalid. */
  invalid = 0;

  addTopic({ externalId, headerQuery, contentQuery }: IndexedTopic): void {
    try {
      this.#picker.set(externalId, { headerQuery, contentQuery });
      this.#counts.set(externalId, 0);
    } catch (error) {
      if (!(error instanceof FilterSyntaxError)) throw error;
      this.invalid += 1;
    }
  }

  add({ event, record, only }: ReadEvent): void {
    const picked = this.#picker.pick(event, record);
    for (const id of picked)
      if (only?.has(id) !== false) this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    const type = this.#getType(event);
    type.events += 1;
    if (picked.length === 0) type.unmatched += 1;
  }

  #getType(event: unknown): TypeCount {
    const name = readType(event);
    const known = this.#types.get(name);
    if (known !== undefined) return known;
    const isFull = this.#types.size >= maxTypes;
    const added = (isFull && this.#types.get(otherTypes)) || { events: 0, unmatched: 0 };
    this.#types.set(isFull ? otherTypes : name, added);
    return added;
  }

  /** External ids with the numbers of their events, by external id. */
  get topics(): [externalId: string, events: number][] {
    return [...this.#counts].toSorted(([one], [other]) => (one < other ? -1 : 1));
  }

  /** Event types, the most frequent first. */
  get types(): [eventType: string, count: TypeCount][] {
    return [...this.#types].toSorted(([one, a], [other, b]) => b.events - a.events || (one < other ? -1 : 1));
  }
}

/** Stands for all types beyond the limit; no JSON text of an event is like it. */
const otherTypes = "(other types)";

function readType(event: unknown): string {
  const type = typeof event === "object" && event !== null && "eventType" in event ? event.eventType : "";
  return typeof type === "string" ? type : "";
}
