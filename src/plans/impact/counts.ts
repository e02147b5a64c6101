import { toTime } from "@topicsync/lib/time";
import { createPicker, FilterSyntaxError } from "@topicsync/filters/picker";
import { tryReadConditions, type FilterTexts } from "@topicsync/filters";
import type {
  ImpactExample,
  ImpactRead,
  ImpactResult,
  ImpactTopic,
  PerDay,
} from "../../../schemas/impact.ts";
import { classifyImpact, type ImpactChange } from "./changes.ts";
import { findDecisive, type ConditionPair } from "./decisive.ts";
import type { EventSink, ReadEvent, ReadResult } from "./events.ts";
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
      conditions: { before: before && tryReadConditions(before), after: after && tryReadConditions(after) },
      newly: createSide(),
      noLonger: createSide(),
      still: 0,
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
    const before = new Set(this.#before.pick(event, record));
    const after = new Set(this.#after.pick(event, record));
    for (const id of new Set([...before, ...after])) {
      const topic = this.#topics.get(id);
      if (topic === undefined || only?.has(id) === false) continue;
      if (!after.has(id)) this.#count(topic, "noLonger", read);
      else if (!before.has(id)) this.#count(topic, "newly", read);
      else topic.still += 1;
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

  /** The JSON of HTTP and the command line: the same for the same records, whenever it is made. */
  toResult({ complete, read }: ReadResult): ImpactResult {
    const total = { before: 0, after: 0, newly: 0, noLonger: 0, still: 0 };
    const growth = { copies: 0, bytes: 0 };
    const topics = [...this.#topics.values()].map((counted) => {
      const topic = toImpactTopic(counted, read);
      for (const name of ["before", "after", "newly", "noLonger", "still"] as const)
        total[name] += topic[name];
      growth.copies += counted.newly.count - counted.noLonger.count;
      growth.bytes += counted.newly.bytes - counted.noLonger.bytes;
      return topic;
    });
    return { complete, read, topics, total: { ...total, perDay: toPerDay(read, growth) } };
  }
}

function toImpactTopic({ change, newly, noLonger, still }: CountedTopic, read: ImpactRead): ImpactTopic {
  const growth = { copies: newly.count - noLonger.count, bytes: newly.bytes - noLonger.bytes };
  return {
    externalId: change.externalId,
    change: classifyImpact(change),
    before: still + noLonger.count,
    after: still + newly.count,
    newly: newly.count,
    noLonger: noLonger.count,
    still,
    perDay: toPerDay(read, growth),
    examples: { newly: [...newly.examples.items], noLonger: [...noLonger.examples.items] },
  };
}

const dayMs = 86_400_000;
/** A shorter time says nothing about a day. */
const minSpanMs = 3_600_000;

/** Extrapolates from the time of what was read; null if that is less than an hour. */
function toPerDay({ firstTime, lastTime }: ImpactRead, { copies, bytes }: PerDay): PerDay | null {
  const span = Date.parse(lastTime ?? "") - Date.parse(firstTime ?? "");
  if (!(span >= minSpanMs)) return null;
  // Without the addition, -0.
  const scale = (count: number): number => Math.round((count * dayMs) / span) + 0;
  return { copies: scale(copies), bytes: scale(bytes) };
}
