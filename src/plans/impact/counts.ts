import { toTime } from "@topicsync/lib/time";
import { createPicker, FilterSyntaxError } from "@topicsync/filters/picker";
import type { FilterTexts } from "@topicsync/filters";
import type { ImpactExample, ImpactTopic, PerDay } from "../../../schemas/impact.ts";
import { classifyImpact, type ImpactChange } from "./changes.ts";
import { findDecisive, tryReadFilters, type ConditionPair } from "./decisive.ts";
import type { EventSink, ReadCounts, ReadEvent } from "./events.ts";
import { PlaceSample } from "./sample.ts";

/** Events that match one of the definitions only. */
interface Side {
  count: number;
  bytes: number;
  readonly examples: PlaceSample<ImpactExample>;
}

interface CountedTopic {
  readonly change: ImpactChange;
  readonly conditions: ConditionPair;
  readonly newly: Side;
  readonly noLonger: Side;
  still: number;
  /** The last event that the new definition matches. */
  lastMatch: number;
}

export interface ImpactOptions {
  /** Of each topic, and of each of newly and no longer. */
  readonly maxExamples: number;
  /** Names an event. */
  readonly nameEvent: (event: ReadEvent) => string;
}

/**
 * Compares the topics of events before and after changes. The cost of an event is that of the changed topics,
 * whatever else is stored.
 *
 * Invariant: an external id occurs in one change only.
 */
export class ImpactCounts implements EventSink {
  readonly #options: ImpactOptions;
  readonly #topics = new Map<string, CountedTopic>();
  readonly #before = createPicker();
  readonly #after = createPicker();
  #eventNumber = 0;

  /** Throws FilterSyntaxError for a new filter. */
  constructor(changes: readonly ImpactChange[], options: ImpactOptions) {
    this.#options = options;
    for (const change of changes) this.#addChange(change);
  }

  #addChange(change: ImpactChange): void {
    const { externalId, before, after } = change;
    if (this.#topics.has(externalId)) throw new Error(`"${externalId}" is changed twice`);
    if (after !== undefined) this.#after.set(externalId, after);
    if (before !== undefined) this.#setStored(externalId, before);
    const createSide = (): Side => ({
      count: 0,
      bytes: 0,
      examples: new PlaceSample(this.#options.maxExamples),
    });
    this.#topics.set(externalId, {
      change,
      conditions: { before: tryReadFilters(before), after: tryReadFilters(after) },
      newly: createSide(),
      noLonger: createSide(),
      still: 0,
      lastMatch: 0,
    });
  }

  /** Stored filters from before they were checked match no event. */
  #setStored(externalId: string, filters: FilterTexts): void {
    try {
      this.#before.set(externalId, filters);
    } catch (error) {
      if (!(error instanceof FilterSyntaxError)) throw error;
    }
  }

  add(read: ReadEvent): void {
    const { event, record, only } = read;
    this.#eventNumber += 1;
    const after = this.#after.pick(event, record);
    for (const id of after) {
      const topic = this.#topics.get(id);
      if (topic !== undefined) topic.lastMatch = this.#eventNumber;
    }
    for (const id of this.#before.pick(event, record)) {
      const topic = this.#topics.get(id);
      if (topic === undefined || only?.has(id) === false) continue;
      if (topic.lastMatch !== this.#eventNumber) this.#count(topic, "noLonger", read);
      else {
        topic.still += 1;
        topic.lastMatch = 0;
      }
    }
    for (const id of after) {
      const topic = this.#topics.get(id);
      if (topic === undefined || only?.has(id) === false) continue;
      if (topic.lastMatch === this.#eventNumber) this.#count(topic, "newly", read);
    }
  }

  #count(topic: CountedTopic, name: "newly" | "noLonger", read: ReadEvent): void {
    const side = topic[name];
    side.count += 1;
    side.bytes += read.bytes;
    side.examples.offer(read, () => ({
      event: this.#options.nameEvent(read),
      time: toTime(read.timestamp)?.toISOString() ?? null,
      decidedBy: findDecisive(topic.conditions, name === "newly" ? "after" : "before", read),
    }));
  }

  /** By how much the copies of events grow. */
  get growth(): PerDay {
    const growth = { copies: 0, bytes: 0 };
    for (const { newly, noLonger } of this.#topics.values()) {
      growth.copies += newly.count - noLonger.count;
      growth.bytes += newly.bytes - noLonger.bytes;
    }
    return growth;
  }

  /** The topics in the order of the changes. */
  listTopics(counts: ReadCounts): ImpactTopic[] {
    return [...this.#topics.values()].map(({ change, newly, noLonger, still }) => ({
      externalId: change.externalId,
      change: classifyImpact(change),
      before: still + noLonger.count,
      after: still + newly.count,
      newly: newly.count,
      noLonger: noLonger.count,
      still,
      perDay: toPerDay(counts, {
        copies: newly.count - noLonger.count,
        bytes: newly.bytes - noLonger.bytes,
      }),
      examples: { newly: [...newly.examples.items], noLonger: [...noLonger.examples.items] },
    }));
  }
}

const dayMs = 86_400_000;
/** A shorter time says nothing about a day. */
const minSpanMs = 3_600_000;

/** Extrapolates from the time of what was read; null if that is less than an hour. */
export function toPerDay({ first = 0, last = 0 }: ReadCounts, { copies, bytes }: PerDay): PerDay | null {
  const span = last - first;
  if (span < minSpanMs) return null;
  // Without the addition, -0.
  const scale = (count: number): number => Math.round((count * dayMs) / span) + 0;
  return { copies: scale(copies), bytes: scale(bytes) };
}
