/** Numbers for the texts that conditions compare with, so that a key of several texts is a few integers. */
export interface Values {
  /** The number of a text, from 1 on; counts how often it is in use. */
  use(text: string): number;
  release(id: number): void;
  /** The number of a text in use; 0 for every other. */
  find(text: string): number;
}

/** Numbers texts; those that nobody uses any more are forgotten. */
export function createValues(): Values {
  const ids = new Map<string, number>();
  const texts: string[] = [""];
  const uses: number[] = [0];
  const free: number[] = [];
  return {
    use(text) {
      const known = ids.get(text);
      const id = known ?? free.pop() ?? texts.length;
      if (known === undefined) {
        ids.set(text, id);
        texts[id] = text;
        uses[id] = 0;
      }
      uses[id] = (uses[id] ?? 0) + 1;
      return id;
    },
    release(id) {
      const left = (uses[id] ?? 0) - 1;
      uses[id] = left;
      if (left > 0) return;
      ids.delete(texts[id] ?? "");
      texts[id] = "";
      free.push(id);
    },
    find: (text) => ids.get(text) ?? 0,
  };
}

/** Stands for "there is a value", whatever it is: every text has the number 1. */
export const anyValue: Values = { use: () => 1, release: () => undefined, find: () => 1 };
