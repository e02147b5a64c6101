import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, it } from "node:test";

import { findPages, root } from "./pages.ts";

interface Link {
  /** The page that contains it, relative to the repository. */
  readonly page: string;
  readonly target: string;
  /** The linked file, relative to the repository. */
  readonly path: string;
  readonly anchor: string | undefined;
}

const read = (page: string): string => readFileSync(join(root, page), "utf8");

/** Removes code, in which brackets are not links. */
const removeCode = (markdown: string): string =>
  markdown.replaceAll(/^(`{3,})[^]*?^\1$/gm, "").replaceAll(/`[^`\n]*`/g, "");

/** Returns the links of a page within the repository. */
function findLinks(page: string): Link[] {
  return Array.from(removeCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : relative(root, resolve(root, dirname(page), path));
      return { page, target, path: file, anchor };
    });
}

/** Returns the anchor that GitHub gives the first heading with this text. */
const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\-_ ]/gu, "")
    .replaceAll(" ", "-");

/** Returns the anchors of a page; those of repeated headings are numbered. */
function findAnchors(page: string): Set<string> {
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
  const links = findPages().flatMap(findLinks);

  it("link to existing files", () => {
    assert.ok(links.length > 100, `${links.length} links`);
    const broken = links.filter(({ path }) => !existsSync(join(root, path)));
    assert.deepEqual(
      broken.map(({ page, target }) => `${page}: ${target}`),
      [],
    );
  });

  it("link to existing headings", () => {
    const anchored = links.filter(
      ({ path, anchor }) => anchor !== undefined && path.endsWith(".md") && existsSync(join(root, path)),
    );
    const broken = anchored.filter(({ path, anchor = "" }) => !findAnchors(path).has(anchor));
    assert.deepEqual(
      broken.map(({ page, target }) => `${page}: ${target}`),
      [],
    );
  });

  it("are all linked from the README, directly or indirectly", () => {
    const reached = new Set(["README.md"]);
    // The loop also visits pages that it adds.
    for (const page of reached)
      for (const { path } of findLinks(page))
        if (path.endsWith(".md") && existsSync(join(root, path))) reached.add(path);
    assert.deepEqual(
      findPages().filter((page) => !reached.has(page)),
      [],
    );
  });
});
