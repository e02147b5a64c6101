/** What the written references and the tests of the guides know of Markdown. */

/** A table. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

/** In a cell of a table: a vertical bar would end it. */
export const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** The anchor that GitHub gives the first heading of this text. */
export const toAnchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\-_ ]/gu, "")
    .replaceAll(" ", "-");
