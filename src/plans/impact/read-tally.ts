import type { RejectionCode } from "@topicsync/lib/errors";
import { toTime } from "@topicsync/lib/time";
import type { EventSink, ReadCounts, ReadEvent, RejectedRecord, ShownRecord } from "./events.ts";
import { PlaceSample } from "./sample.ts";

/** Of those that are not events. */
const maxShownRejected = 20;

/** Counts what was read, and passes the events on. */
export class ReadTally {
  readonly #sink: EventSink;
  readonly #rejected = new Map<RejectionCode, number>();
  readonly #shownRejected = new PlaceSample<ShownRecord>(maxShownRejected);
  #events = 0;
  #first = Infinity;
  #last = -Infinity;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  add(read: ReadEvent | RejectedRecord): void {
    this.#addTime(read.timestamp);
    if ("code" in read) {
      const { code, partition, offset } = read;
      this.#rejected.set(code, (this.#rejected.get(code) ?? 0) + 1);
      this.#shownRejected.offer(read, () => ({ partition, offset, code }));
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
      rejectedExamples: this.#shownRejected.items.toSorted(
        (one, other) => one.partition - other.partition || one.offset - other.offset,
      ),
      first: hasTime ? this.#first : undefined,
      last: hasTime ? this.#last : undefined,
    };
  }
}
