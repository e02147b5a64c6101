/** Counts by the numbers of topics, 4 bytes for each. */
export class MatchCounts {
  #counts = new Uint32Array();

  /** `topics`: how many numbers there are. */
  add(topic: number, matches: number, topics: number): void {
    if (topic >= this.#counts.length) this.#grow(topics);
    this.#counts[topic] = Math.min((this.#counts[topic] ?? 0) + matches, maxCount);
  }

  /** Returns the count of a topic and sets it to 0. */
  take(topic: number): number {
    const counted = this.#counts[topic] ?? 0;
    if (counted > 0) this.#counts[topic] = 0;
    return counted;
  }

  #grow(topics: number): void {
    const larger = new Uint32Array(Math.ceil(topics / topicsPerStep) * topicsPerStep);
    larger.set(this.#counts);
    this.#counts = larger;
  }
}

const maxCount = 0xff_ff_ff_ff;
const topicsPerStep = 16_384;
