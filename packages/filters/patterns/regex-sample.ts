/**
 * Returns a text that a regular expression of RE2's syntax probably matches: the first alternatives, as few
 * repetitions as possible. The caller tests it.
 */
export const createRegexSample = (pattern: string): string => new Sampler(pattern).readAlternatives();

/** A character of each class; of an unknown one, and of what is not in a class, `other`. */
const classes: Readonly<Record<string, string>> = {
  d: "0",
  w: "a",
  s: " ",
  D: "a",
  S: "a",
  digit: "0",
  xdigit: "0",
  alpha: "a",
  alnum: "a",
  word: "a",
  lower: "a",
  upper: "A",
  space: " ",
  n: "\n",
  t: "\t",
  r: "\r",
};
const other = "!";
/** Of zero width. */
const assertions = "AzbB";

class Sampler {
  readonly #pattern: string;
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  readAlternatives(): string {
    const first = this.#readSequence();
    while (this.#skip("|")) this.#readSequence();
    return first;
  }

  #readSequence(): string {
    let text = "";
    while (this.#at < this.#pattern.length && !/[|)]/.test(this.#next))
      text += this.#repeat(this.#readAtom());
    return text;
  }

  get #next(): string {
    return this.#pattern[this.#at] ?? "";
  }

  #skip(text: string): boolean {
    const isThere = this.#pattern.startsWith(text, this.#at);
    if (isThere) this.#at += text.length;
    return isThere;
  }

  /** Reads what an expression matches from here; undefined if it does not. */
  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#pattern) ?? undefined;
    this.#at += found?.[0].length ?? 0;
    return found;
  }

  #repeat(text: string): string {
    const found = this.#match(/(?:[*?+]|\{(\d+)(?:,\d*)?\})\??/uy);
    if (found === undefined) return text;
    return text.repeat(Number(found[1] ?? (found[0].startsWith("+") ? 1 : 0)));
  }

  #readAtom(): string {
    if (this.#match(/[$^]|\(\?[a-zA-Z-]+\)/uy)) return "";
    if (this.#match(/\((?:\?P?<\w+>|\?[a-zA-Z-]*:)?/uy)) {
      const text = this.readAlternatives();
      this.#skip(")");
      return text;
    }
    if (this.#skip("[")) return this.#readClass();
    return this.#skip(".") ? "a" : this.#readCharacter();
  }

  #readCharacter(): string {
    const quoted = this.#match(/\\Q((?:(?!\\E).)*)(?:\\E)?/suy);
    if (quoted !== undefined) return quoted[1] ?? "";
    const code = this.#match(/\\x(?:([\da-f]{2})|\{([\da-f]+)\})/iuy);
    if (code !== undefined) return String.fromCodePoint(Number.parseInt(code[1] ?? code[2] ?? "", 16));
    if (this.#match(/\\[pP](?:\{[^}]*\}|.)/uy)) return "a";
    const [character = "", escaped] = this.#match(/\\(.)|./suy) ?? [];
    if (escaped === undefined) return character;
    return assertions.includes(escaped) ? "" : (classes[escaped] ?? (/\w/.test(escaped) ? other : escaped));
  }

  /** The first character of a class. */
  #readClass(): string {
    const isNegated = this.#skip("^");
    let first = "";
    do {
      const named = this.#match(/\[:(\w+):\]/uy);
      const one = named === undefined ? this.#readCharacter() : (classes[named[1] ?? ""] ?? other);
      first ||= one;
    } while (this.#at < this.#pattern.length && !this.#skip("]"));
    return isNegated ? other : first;
  }
}
