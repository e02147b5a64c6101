import { now } from "@topicsync/lib/platform";
import type { TopicChange } from "./feed.ts";

/**
 * A store may report a change a moment before it can be read, so each change is read a second time after
 * this.
 */
export const secondReadDelayMs = 1_000;

/** The writes of this process that the feed has yet to report. */
export class OwnWrites {
  /** The update time of what this process wrote last, by external id. */
  readonly #updatedOn = new Map<string, number>();
  #followedSince = 0;

  /** The feed is followed from now on. It does not report earlier writes. */
  follow(): void {
    this.#updatedOn.clear();
    this.#followedSince = now();
  }

  add(externalId: string, updatedOn: Date): void {
    this.#updatedOn.set(externalId, updatedOn.getTime());
  }

  delete(externalId: string): void {
    this.#updatedOn.delete(externalId);
  }

  /** Whether a change is a write of this process, which is reported only once. */
  takeEcho({ externalId, updatedOn }: TopicChange): boolean {
    if (updatedOn === undefined || this.#updatedOn.get(externalId) !== updatedOn) return false;
    return this.#updatedOn.delete(externalId);
  }

  /**
   * Whether a write that was decided at this time may have been replaced, and the newer version have been
   * read: the response can be late by the driver's timeouts.
   */
  isLate(decidedOn: Date): boolean {
    return decidedOn.getTime() < Math.max(this.#followedSince, now() - secondReadDelayMs / 2);
  }
}
