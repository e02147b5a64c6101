import type { Event } from "../../schemas/pick.ts";
import { elapsed, now } from "../lib/platform.ts";
import { learningLimits, untyped, type TypeStatistics } from "./event-type.ts";
import { EventStructure, type Room } from "./structure.ts";

/** What was seen of a type since the last time it was stored. */
export interface TypeChanges extends TypeStatistics {
  readonly name: string;
}

interface LearningType {
  structure: EventStructure;
  /** Since the process began to see the type. */
  sampled: number;
  /** In the current second. */
  sampledNow: number;
  second: number;
  /** Since the last time they were taken. */
  changes: { events: number; sampled: number; firstOn: number; lastOn: number };
}

interface LearnerOptions {
  readonly keepsValues: boolean;
  /** False: every event is looked into, however long it takes. */
  readonly isLimited?: boolean;
}

const firstSamples = 1_000;
const samplesPerSecond = 10;
/** Reading the clock takes time. Fewer than `samplesPerSecond`, so that rare types are sampled. */
const eventsPerClock = 8;
/** The share of the time that looking into events may take, and how much of it may be saved up. */
const timeShare = 0.01;
const maxTimeMs = 10;
/** Of all types together: at most 30 MB. */
const maxPaths = 100_000;

/** Learns what events look like, from samples. What was learned is taken to be stored. */
export class EventLearner {
  readonly #keepsValues: boolean;
  readonly #isLimited: boolean;
  readonly #types = new Map<string, LearningType>();
  readonly #room: Room = { paths: maxPaths };
  /** The time that looking into events has taken beyond what was allowed until `#spentUntil`. */
  #spentMs = 0;
  #spentUntil = 0;
  #second = 0;
  #eventsUntilClock = 0;

  constructor({ keepsValues, isLimited = true }: LearnerOptions) {
    this.#keepsValues = keepsValues;
    this.#isLimited = isLimited;
  }

  /** Counts an event, and its paths if it is sampled. */
  learn(event: Event): void {
    const type = this.#getType(event.eventType);
    if (type === undefined) return;
    type.changes.events += 1;
    if (this.#isLimited && !this.#maySample(type)) return;
    const startedAt = elapsed();
    type.sampled += 1;
    type.changes.sampled += 1;
    type.changes.lastOn = now();
    type.structure.learn(event, type.changes.lastOn);
    this.#spentMs += elapsed() - startedAt;
  }

  /** Yields what was seen since the last time, one type at a time: a type may have many paths. */
  *take(): Generator<TypeChanges> {
    for (const [name, type] of [...this.#types]) {
      const { structure, changes } = type;
      if (changes.events === 0) {
        // It is learned like a new one if it occurs again.
        this.#types.delete(name);
        this.#room.paths += structure.size;
        continue;
      }
      type.changes = createChanges();
      // A full structure would not learn paths that are new.
      if (structure.size >= learningLimits.pathsPerType) {
        type.structure = this.#createStructure();
        this.#room.paths += structure.size;
      }
      yield {
        name,
        ...changes,
        firstOn: new Date(changes.firstOn),
        lastOn: new Date(changes.lastOn),
        isComplete: structure.isComplete,
        paths: structure.takeChanges(),
      };
    }
    // Otherwise types that come later would never be learned.
    if (this.#room.paths <= 0) {
      this.#types.clear();
      this.#room.paths = maxPaths;
    }
  }

  #getType(eventType: string | null | undefined): LearningType | undefined {
    const name = eventType === undefined || eventType === null || eventType === "" ? untyped : eventType;
    const known = this.#types.get(name);
    if (known !== undefined) return known;
    if (this.#types.size >= learningLimits.types || name.length > learningLimits.typeLength) return undefined;
    const type: LearningType = {
      structure: this.#createStructure(),
      sampled: 0,
      sampledNow: 0,
      second: 0,
      changes: createChanges(),
    };
    this.#types.set(name, type);
    return type;
  }

  #createStructure(): EventStructure {
    return new EventStructure({ keepsValues: this.#keepsValues, room: this.#room });
  }

  #readClock(): void {
    const at = elapsed();
    this.#spentMs = Math.max(0, this.#spentMs - (at - this.#spentUntil) * timeShare);
    this.#spentUntil = at;
    this.#second = Math.floor(at / 1_000);
    this.#eventsUntilClock = eventsPerClock;
  }

  #maySample(type: LearningType): boolean {
    if (this.#eventsUntilClock === 0) this.#readClock();
    this.#eventsUntilClock -= 1;
    if (this.#spentMs >= maxTimeMs) return false;
    if (type.sampled < firstSamples) return true;
    if (type.second !== this.#second) {
      type.second = this.#second;
      type.sampledNow = 0;
    }
    type.sampledNow += 1;
    return type.sampledNow <= samplesPerSecond;
  }
}

function createChanges(): LearningType["changes"] {
  const time = now();
  return { events: 0, sampled: 0, firstOn: time, lastOn: time };
}
