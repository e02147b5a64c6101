/** What the linter has no rule for. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const product = ["src", "http", "consumers", "schemas"];
const maxWidth = 110;

const readLines = (folders: readonly string[]): [place: string, line: string][] =>
  globSync(`{${folders.join(",")}}/**/*.{ts,tsx}`, { cwd: root }).flatMap((file) =>
    readFileSync(`${root}${file}`, "utf8")
      .split("\n")
      .map((line, at): [string, string] => [`${file}:${at + 1}`, line]),
  );

describe("the sources", () => {
  it(`have comments of at most ${maxWidth} columns`, () => {
    const wide = readLines([...product, "console/src", "demo", "bench", "docs", "test"])
      .filter(([, line]) => line.length > maxWidth && /^\s*(?:\/\/|\/\*\*|\*)/.test(line))
      // An address cannot be broken.
      .filter(([, line]) => !line.includes("https://"));
    assert.deepEqual(
      wide.map(([place]) => place),
      [],
    );
  });

  it("of the product export each name once", () => {
    const exported = readLines(product).flatMap(([place, line]) => {
      const name = /^export (?:abstract |async )?(?:const|function\*?|class|interface|type) (\w+)/.exec(
        line,
      )?.[1];
      return name === undefined ? [] : [{ name, place }];
    });
    const twice = [...Map.groupBy(exported, ({ name }) => name)].filter(([, places]) => places.length > 1);
    assert.deepEqual(
      twice.map(([name, places]) => `${name}: ${places.map(({ place }) => place).join(", ")}`),
      [],
    );
  });
});
