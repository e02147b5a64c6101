import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, it } from "node:test";

import { pages, root } from "./pages.ts";

interface Link {
  /** Where it stands, relative to the repository. */
  readonly page: string;
  readonly target: string;
  /** The file that it leads to, relative to the repository. */
  readonly path: string;
  readonly anchor: string | undefined;
}

const read = (page: string): string => readFileSync(join(root, page), "utf8");

/** Without what stands in code: there a bracket is a bracket. */
const withoutCode = (markdown: string): string =>
  markdown.replaceAll(/^(`{3,})[^]*?^\1$/gm, "").replaceAll(/`[^`\n]*`/g, "");

/** The links of a page to other places of the repository. */
function linksOf(page: string): Link[] {
  return Array.from(withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : relative(root, resolve(root, dirname(page), path));
      return { page, target, path: file, anchor };
    });
}

/** The anchor that GitHub gives the first heading of this text. */
const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\-_ ]/gu, "")
    .replaceAll(" ", "-");

/** The anchors of a page, numbered where a heading comes again. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  const text = read(page).replaceAll(/^(`{3,})[^]*?^\1$/gm, "");
  for (const [, heading = ""] of text.matchAll(/^#{1,6} (.+)$/gm)) {
    const first = toAnchor(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
    let anchor = first;
    for (let again = 1; anchors.has(anchor); again += 1) anchor = `${first}-${again}`;
    anchors.add(anchor);
  }
  return anchors;
}

describe("the pages", () => {
  const links = pages().flatMap(linksOf);

  it("link to files that are there", () => {
    assert.ok(links.length > 100, `${links.length} links`);
    const broken = links.filter(({ path }) => !existsSync(join(root, path)));
    assert.deepEqual(
      broken.map(({ page, target }) => `${page}: ${target}`),
      [],
    );
  });

  it("link to headings that are there", () => {
    const anchored = links.filter(
      ({ path, anchor }) => anchor !== undefined && path.endsWith(".md") && existsSync(join(root, path)),
    );
    const broken = anchored.filter(({ path, anchor = "" }) => !anchorsOf(path).has(anchor));
    assert.deepEqual(
      broken.map(({ page, target }) => `${page}: ${target}`),
      [],
    );
  });

  it("are all reached from the README", () => {
    const reached = new Set(["README.md"]);
    // What is added while it is gone through is gone through as well.
    for (const page of reached)
      for (const { path } of linksOf(page))
        if (path.endsWith(".md") && existsSync(join(root, path))) reached.add(path);
    assert.deepEqual(
      pages().filter((page) => !reached.has(page)),
      [],
    );
  });
});
