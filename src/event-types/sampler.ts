import { toTime } from "@topicsync/lib/time";
import { Turns } from "@topicsync/lib/concurrency/turns";
import type { Event } from "../../schemas/pick.ts";
import { structureLimits, untyped, type EventSample, type EventType } from "./event-type.ts";
import { EventStructure, type Room } from "./structure.ts";

interface SampledType {
  readonly structure: EventStructure;
  events: number;
}

/** Finds out what events look like. */
export class EventSampler {
  readonly #types = new Map<string, SampledType>();
  readonly #room: Room = { paths: structureLimits.paths };
  #events = 0;
  #rejected = 0;
  #from = Infinity;
  #to = -Infinity;
  #hasAllTypes = true;

  /** The number of records that were added. */
  get records(): number {
    return this.#events + this.#rejected;
  }

  /** Adds the event of a record with this timestamp. */
  add(event: Event, timestamp: number): void {
    this.#events += 1;
    if (toTime(timestamp) !== undefined) {
      this.#from = Math.min(this.#from, timestamp);
      this.#to = Math.max(this.#to, timestamp);
    }
    const type = this.#getType(event.eventType);
    if (type === undefined) return;
    type.events += 1;
    type.structure.learn(event);
  }

  /** Counts a record that is not an event. */
  reject(): void {
    this.#rejected += 1;
  }

  /** Describes what was added, in turns of the event loop. */
  async describe(): Promise<EventSample> {
    const types: EventType[] = [];
    const turns = new Turns();
    for (const [name, { structure, events }] of this.#types) {
      const paths = structure.list();
      const { isComplete } = structure;
      types.push({ name, events, isComplete, paths, find: (path) => structure.find(path) });
      if (turns.isOver()) await turns.next();
    }
    return {
      events: this.#events,
      rejected: this.#rejected,
      from: toTime(this.#from),
      to: toTime(this.#to),
      types: types.toSorted((a, b) => b.events - a.events),
      hasAllTypes: this.#hasAllTypes,
    };
  }

  #getType(eventType: string | null | undefined): SampledType | undefined {
    const name = eventType === undefined || eventType === null || eventType === "" ? untyped : eventType;
    const known = this.#types.get(name);
    if (known !== undefined) return known;
    if (this.#types.size >= structureLimits.types || name.length > structureLimits.typeLength) {
      this.#hasAllTypes = false;
      return undefined;
    }
    const type = { structure: new EventStructure(this.#room), events: 0 };
    this.#types.set(name, type);
    return type;
  }
}
