/** Numbers, from 1, for things in use; counted by use. */
export class Numbering {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [""];
  readonly #uses: number[] = [0];
  readonly #free: number[] = [];

  /** `isNew`: whether it was not in use before. */
  acquire(text: string): { readonly number: number; readonly isNew: boolean } {
    const known = this.#numbers.get(text);
    const number = known ?? this.#free.pop() ?? this.#texts.length;
    if (known === undefined) {
      this.#numbers.set(text, number);
      this.#texts[number] = text;
      this.#uses[number] = 0;
    }
    this.#uses[number] = (this.#uses[number] ?? 0) + 1;
    return { number, isNew: known === undefined };
  }

  /** Returns the text if it is no longer in use. */
  release(number: number): string | undefined {
    const left = (this.#uses[number] ?? 0) - 1;
    this.#uses[number] = left;
    if (left > 0) return undefined;
    const text = this.#texts[number] ?? "";
    this.#numbers.delete(text);
    this.#texts[number] = "";
    this.#free.push(number);
    return text;
  }

  /** 0 for a text that is not in use. */
  find(text: string): number {
    return this.#numbers.get(text) ?? 0;
  }
}
