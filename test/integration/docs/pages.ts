import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The repository. */
export const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The pages of the documentation, relative to the repository. */
export const findPages = (): string[] =>
  globSync(["*.md", "docs/**/*.md", "deploy/**/README.md", "{bench,console,packages/*,test/*}/README.md"], {
    cwd: root,
  }).toSorted();

/** A fenced block of a page. */
export interface Block {
  /** "docs/filters.md:12". */
  readonly place: string;
  /** The text after the fence: "sh", "sh elsewhere". */
  readonly info: string;
  readonly text: string;
}

/** Returns the fenced blocks of a page, in order. */
export function parseBlocks(page: string, markdown: string): Block[] {
  return Array.from(
    markdown.matchAll(/^```(.*)\n([^]*?)^```$/gm),
    ({ 1: info = "", 2: text = "", index }) => ({
      place: `${page}:${markdown.slice(0, index).split("\n").length}`,
      info,
      text,
    }),
  );
}
