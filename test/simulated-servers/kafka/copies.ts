/**
 * What the broker that does not lead a partition has of it. Consumers may fetch there, since KIP-392: one
 * that has not heard of a new leader goes on at the former one.
 */
import type { Clock } from "../clock.ts";
import type { Random } from "../random.ts";
import type { PartitionLog } from "./log.ts";

export interface Bounds {
  readonly low: number;
  readonly end: number;
  readonly stable: number;
}

const maxLagMs = 50;
const maxCatchUpMs = 2_000;

export class Copy {
  readonly #log: PartitionLog;
  readonly #clock: Clock;
  readonly #random: Random;
  /** The bounds that the leader reported last. */
  #known: Bounds;
  #toldAt = 0;
  /** Where it ended when its broker died, until it has caught up. */
  #diedAt = Infinity;
  #catchesUpAt = Infinity;

  constructor(log: PartitionLog, { clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#log = log;
    this.#clock = clock;
    this.#random = random;
    this.#known = { low: log.low, end: log.end, stable: log.stable };
  }

  /** Its broker dies. */
  leave(): void {
    this.#diedAt = Math.min(this.#diedAt, this.#log.end);
    this.#catchesUpAt = Infinity;
  }

  /** Its broker is there again. */
  comeBack(): void {
    this.#catchesUpAt = this.#clock.getTime() + this.#random.between(0, maxCatchUpMs);
  }

  /** It has what the leader has. */
  complete(): void {
    this.#diedAt = Infinity;
  }

  /** Whether it lacks an offset that the leader may have given to consumers. */
  lacks(offset: number): boolean {
    if (this.#clock.getTime() >= this.#catchesUpAt) this.#diedAt = Infinity;
    return offset > Math.min(this.#diedAt, this.#log.end);
  }

  /** Never ahead of those of the leader. */
  getBounds(): Bounds {
    const { low, end, stable } = this.#log;
    if (this.#clock.getTime() >= this.#toldAt) {
      this.#known = { low, end, stable };
      this.#toldAt = this.#clock.getTime() + this.#random.between(0, maxLagMs);
    }
    const last = Math.min(end, this.#known.end, this.#diedAt);
    return { low, end: last, stable: Math.min(stable, this.#known.stable, last) };
  }
}
