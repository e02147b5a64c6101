const maxCount = 0xff_ff_ff_ff;
const minTopics = 1_024;

/** Counts by the number of a topic, 4 bytes for each. */
export class MatchCounts {
  #counts = new Uint32Array();

  add(topic: number, matches: number): void {
    if (topic >= this.#counts.length) this.#grow(topic + 1);
    this.#counts[topic] = Math.min((this.#counts[topic] ?? 0) + matches, maxCount);
  }

  /** Returns the count of a topic and sets it to 0. */
  take(topic: number): number {
    const counted = this.#counts[topic] ?? 0;
    if (counted > 0) this.#counts[topic] = 0;
    return counted;
  }

  #grow(topics: number): void {
    const larger = new Uint32Array(Math.max(minTopics, Math.ceil(topics * 1.125)));
    larger.set(this.#counts);
    this.#counts = larger;
  }
}
