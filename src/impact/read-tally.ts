import type { RejectionCode } from "../lib/errors.ts";
import { toTime } from "../lib/time.ts";
import type { EventSink, ReadCounts, ReadEvent, RejectedRecord } from "./events.ts";

/** Counts what was read, and passes the events on. */
export class ReadTally {
  readonly #sink: EventSink;
  readonly #rejected = new Map<RejectionCode, number>();
  #events = 0;
  #first = Infinity;
  #last = -Infinity;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  add(read: ReadEvent | RejectedRecord): void {
    this.#addTime(read.timestamp);
    if ("code" in read) {
      this.#rejected.set(read.code, (this.#rejected.get(read.code) ?? 0) + 1);
      return;
    }
    this.#events += 1;
    this.#sink.add(read);
  }

  #addTime(timestamp: number): void {
    if (toTime(timestamp) === undefined) return;
    if (timestamp < this.#first) this.#first = timestamp;
    if (timestamp > this.#last) this.#last = timestamp;
  }

  get counts(): ReadCounts {
    const rejected = [...this.#rejected].toSorted(([one], [other]) => (one < other ? -1 : 1));
    const hasTime = this.#first <= this.#last;
    return {
      records: this.#events + rejected.reduce((sum, [, count]) => sum + count, 0),
      events: this.#events,
      rejected: Object.fromEntries(rejected),
      first: hasTime ? this.#first : undefined,
      last: hasTime ? this.#last : undefined,
    };
  }
}
