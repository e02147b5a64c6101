import { Numbering } from "../filter/numbering.ts";

/**
 * The namespaces of topics, by the numbers of topics. Many topics share one, which is kept once, for as long
 * as a topic has it.
 */
export class TopicNamespaces {
  readonly #numbering = new Numbering();
  readonly #texts: string[] = [""];
  /** By topic; 0 for a topic without one. */
  readonly #numbers: number[] = [];

  set(topic: number, text: string): void {
    this.delete(topic);
    // No gaps, so that the list stays an array.
    while (this.#numbers.length <= topic) this.#numbers.push(0);
    if (text === "") return;
    const { number, isNew } = this.#numbering.acquire(text);
    if (isNew) this.#texts[number] = text;
    this.#numbers[topic] = number;
  }

  delete(topic: number): void {
    const number = this.#numbers[topic] ?? 0;
    if (number === 0) return;
    this.#numbers[topic] = 0;
    if (this.#numbering.release(number) !== undefined) this.#texts[number] = "";
  }

  /** The namespace of a topic; "" if it has none. */
  get(topic: number): string {
    return this.#texts[this.#numbers[topic] ?? 0] ?? "";
  }

  /** The number of different namespaces. */
  get size(): number {
    return this.#numbering.size;
  }
}
