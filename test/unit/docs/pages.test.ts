import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { findPages, root } from "../../integration/docs/pages.ts";

const maxLineLength = 110;

/** Returns the lines of a page with their numbers, without fenced blocks. */
function findProse(page: string): { readonly place: string; readonly line: string }[] {
  let fence: string | undefined;
  return readFileSync(join(root, page), "utf8")
    .split("\n")
    .flatMap((line, at) => {
      const mark = /^\s*(`{3,})/.exec(line)?.[1];
      if (mark !== undefined) fence = fence === undefined ? mark : mark === fence ? undefined : fence;
      return fence === undefined && mark === undefined ? [{ place: `${page}:${at + 1}`, line }] : [];
    });
}

/** A row of a table, or a line that cannot be broken: one link, one piece of code. */
const isUnbreakable = (line: string): boolean =>
  line.startsWith("|") || /^\s*(?:[-*] |\d+\. )?\S*(?:\[[^\]]*\]\(\S*|`[^`]*`\S*|https?:\S*)$/.test(line);

describe("the pages", () => {
  it(`have lines of at most ${maxLineLength} characters, except in tables, links and code`, () => {
    const long = findPages()
      .flatMap(findProse)
      .filter(({ line }) => line.length > maxLineLength && !isUnbreakable(line));
    assert.deepEqual(
      long.map(({ place }) => place),
      [],
    );
  });

  it("say of each dependency why it was chosen", () => {
    const page = readFileSync(join(root, "docs/dependencies.md"), "utf8");
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8"),
    ) as Readonly<Record<"dependencies" | "devDependencies", Readonly<Record<string, string>>>>;
    const names = [...Object.keys(dependencies), ...Object.keys(devDependencies)];
    const unexplained = names.filter(
      (name) => !/^@(?:types|opentelemetry)\//.test(name) && !page.includes(`\`${name}\``),
    );
    assert.deepEqual(unexplained, []);
  });

  it("name existing files in the reading order", () => {
    const page = readFileSync(join(root, "docs/reading-order.md"), "utf8");
    const paths = Array.from(page.matchAll(/`(?=[a-z])([\w-]+(?:\/[\w.-]+)+)`/g), ([, path = ""]) => path);
    assert.ok(paths.length > 30, `${paths.length} files`);
    assert.deepEqual(
      paths.filter((path) => !existsSync(join(root, path))),
      [],
    );
  });
});
