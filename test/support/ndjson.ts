export const toNdjson = (...values: readonly object[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");

export const parseNdjson = (text: string): unknown[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
