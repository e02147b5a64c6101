/** docs/security.md names the test of each of its claims. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { root } from "./pages.ts";

const text = readFileSync(join(root, "docs/security.md"), "utf8");

/** The rows of the tables whose last column is "test". */
const columns = text.split("\n\n").flatMap((block) => {
  const lines = block.split("\n");
  const head = lines.findIndex((line) => line.endsWith("| test |"));
  return head === -1 ? [] : lines.slice(head + 2).filter((line) => line.startsWith("|"));
});
const getTests = (row: string): string => row.split("|").at(-2) ?? "";

describe("docs/security.md", () => {
  it("names a test for each claim, by its file", () => {
    assert.ok(columns.length > 60, `${columns.length} claims`);
    for (const row of columns) {
      const named = [...getTests(row).matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
      assert.ok(named.length > 0, row);
      for (const name of named) assert.match(name, /^(?:test|packages\/\w+\/test)\/.*\.test\.ts$/, row);
    }
  });

  it("names existing files, and titles of tests in them", () => {
    for (const [, file = "", titles = ""] of text.matchAll(
      /`((?:test|packages)\/[^`]*)`(?:: ((?:"[^"]+"(?:, )?)+))?/g,
    )) {
      assert.ok(existsSync(join(root, file)), file);
      const source = titles === "" ? "" : readFileSync(join(root, file), "utf8");
      for (const [, title = ""] of titles.matchAll(/"([^"]+)"/g)) assert.ok(source.includes(title), title);
    }
  });
});
