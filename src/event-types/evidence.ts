import type { KnownType } from "./knowledge.ts";
import { anyName } from "./structure.ts";
import { formatDay, formatEvents } from "./warning-text.ts";

/** A path that may be suggested. */
interface Candidate {
  readonly path: readonly string[];
  readonly events: number;
  /** Whether it ever had a value that conditions compare with. */
  readonly isValue: boolean;
}

/** The event types that a filter selects. */
export class Evidence {
  readonly types: readonly KnownType[];
  readonly sampled: number;
  readonly #isEvery: boolean;
  #paths: readonly Candidate[] | undefined;

  /** `isEvery`: the filter selects all types. */
  constructor(types: readonly KnownType[], isEvery: boolean) {
    this.types = types;
    this.sampled = types.reduce((sum, { sampled }) => sum + sampled, 0);
    this.#isEvery = isEvery;
  }

  /** "in 100,000 events of type TroubleTicketCreateEvent since 3 Nov 2026". */
  describe(): string {
    const [first, ...others] = this.types;
    const which = this.#isEvery
      ? ""
      : ` of ${others.length === 0 ? `type ${first?.name ?? ""}` : `${this.types.length} types`}`;
    return `in ${formatEvents(this.sampled)}${which} since ${formatDay(this.types.map(({ sampledSince }) => sampledSince))}`;
  }

  /** The paths of all types, the most frequent first. */
  listPaths(): readonly Candidate[] {
    return (this.#paths ??= joinPaths(this.types));
  }
}

function joinPaths(types: readonly KnownType[]): Candidate[] {
  const byName = new Map<string, Candidate>();
  for (const { paths = [] } of types)
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
