import type { EventSample, EventType } from "./event-type.ts";
import { anyName } from "./structure.ts";
import { formatSampled } from "./warning-text.ts";

/** A path that may be suggested. */
interface Candidate {
  readonly path: readonly string[];
  readonly events: number;
  /** Whether it ever had a value that conditions compare with. */
  readonly isValue: boolean;
}

/** The event types that a filter selects. */
export class Evidence {
  readonly types: readonly EventType[];
  /** The number of their events. */
  readonly events: number;
  readonly #sample: EventSample;
  #paths: readonly Candidate[] | undefined;

  constructor(types: readonly EventType[], sample: EventSample) {
    this.types = types;
    this.events = types.reduce((sum, { events }) => sum + events, 0);
    this.#sample = sample;
  }

  /** "in 1,200 sampled events of type TroubleTicketCreateEvent since 3 Nov 2026, 15:40 UTC". */
  describe(): string {
    const [first, ...others] = this.types;
    const isEvery = this.types.length === this.#sample.types.length;
    const which = isEvery
      ? ""
      : ` of ${others.length === 0 ? `type ${first?.name ?? ""}` : `${this.types.length} types`}`;
    return formatSampled(this.events, this.#sample, which);
  }

  /** The paths of all types, the most frequent first. */
  listPaths(): readonly Candidate[] {
    return (this.#paths ??= joinPaths(this.types));
  }
}

function joinPaths(types: readonly EventType[]): Candidate[] {
  const byName = new Map<string, Candidate>();
  for (const { paths } of types)
    for (const { path, events, kinds } of paths) {
      // Filters have neither wildcards nor empty names.
      if (path.includes(anyName) || path.includes("")) continue;
      const name = JSON.stringify(path);
      const other = byName.get(name);
      const isValue = other?.isValue === true || kinds.string + kinds.number + kinds.boolean > 0;
      byName.set(name, { path, events: (other?.events ?? 0) + events, isValue });
    }
  return [...byName.values()].toSorted((a, b) => b.events - a.events);
}
