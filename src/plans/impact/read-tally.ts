import type { RejectionCode } from "@topicsync/lib/errors";
import { toTime } from "@topicsync/lib/time";
import type { ImpactRead } from "../../../schemas/impact.ts";
import type { EventSink, ReadEvent, RejectedRecord } from "./events.ts";
import { PlaceSample } from "./sample.ts";

/** Of those that are not events. */
const maxShownRejected = 20;

type KafkaRead = Pick<ImpactRead, "kafkaTopic" | "topicId" | "partitions">;

/** Counts what was read, and passes the events on. */
export class ReadTally {
  readonly #sink: EventSink;
  readonly #rejected = new Map<RejectionCode, number>();
  readonly #shownRejected = new PlaceSample<ImpactRead["rejectedExamples"][number]>(maxShownRejected);
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

  /** What was read, by default of a file. */
  describe(from: KafkaRead = { kafkaTopic: null, topicId: null, partitions: [] }): ImpactRead {
    const rejected = [...this.#rejected].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return {
      ...from,
      firstTime: toTime(this.#first)?.toISOString() ?? null,
      lastTime: toTime(this.#last)?.toISOString() ?? null,
      records: this.#events + rejected.reduce((sum, [, count]) => sum + count, 0),
      events: this.#events,
      rejected: Object.fromEntries(rejected),
      rejectedExamples: this.#shownRejected.items.toSorted(
        (one, other) => one.partition - other.partition || one.offset - other.offset,
      ),
      withoutRecord: 0,
    };
  }
}
