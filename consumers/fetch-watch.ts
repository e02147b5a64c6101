import { elapsed, now } from "@topicsync/lib/platform";
import type { ReaderStatus } from "./partition-status.ts";

/** A fetch without records takes half a second. */
const maxSilenceMs = 10_000;

/** How long Kafka has not responded to a fetch. Nothing is fetched while batches are handled. */
export class FetchWatch {
  #handling = 0;
  #lastAt = elapsed();

  note(): void {
    this.#lastAt = elapsed();
  }

  async handle(batch: Promise<void> | undefined): Promise<void> {
    this.#handling += 1;
    try {
      await batch;
    } finally {
      this.#handling -= 1;
      this.note();
    }
  }

  /** What was last fetched decides, not that a partition may be read. */
  describe(reader: ReaderStatus): ReaderStatus {
    const silentMs = elapsed() - this.#lastAt;
    if (reader.state === "paused" || this.#handling > 0 || silentMs < maxSilenceMs) return reader;
    const since = new Date(now() - silentMs).toISOString();
    const reason = `not reading: Kafka has not responded to a fetch since ${since}`;
    return { ...reader, state: "paused", reason, cause: "outage" };
  }
}
