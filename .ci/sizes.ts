/**
 * Compares the lines of each room with its ceiling in sizes.json, and the files of each folder with a number
 * that fits on a screen; see "Layout" in ARCHITECTURE.md.
 *
 *     node .ci/sizes.ts           # fails if a room or a folder is larger
 *     node .ci/sizes.ts --write   # after a room has become smaller, or has good reason to grow
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const file = new URL("sizes.json", import.meta.url);
const ceilings = JSON.parse(readFileSync(file, "utf8")) as Record<string, number>;
const maxFiles = 24;

const findFiles = (room: string): string[] =>
  globSync(`${room}/**/*.{ts,tsx}`, { exclude: [`${room}/test/**`] });

const countLines = (room: string): number =>
  findFiles(room).reduce((sum, path) => sum + readFileSync(path, "utf8").split("\n").length - 1, 0);

function fail(text: string): void {
  process.exitCode = 1;
  console.error(text);
}

const sizes = Object.fromEntries(Object.keys(ceilings).map((room) => [room, countLines(room)]));
if (process.argv.includes("--write")) {
  writeFileSync(file, `${JSON.stringify(sizes, undefined, 2)}\n`);
} else {
  for (const [room, ceiling] of Object.entries(ceilings)) {
    const lines = sizes[room] ?? 0;
    if (lines > ceiling)
      fail(
        `${room} has ${lines} lines, ${lines - ceiling} more than its ceiling. Make it smaller, or raise the ceiling with "node .ci/sizes.ts --write" and say why in the commit.`,
      );
  }
  for (const [folder, files] of Map.groupBy(Object.keys(ceilings).flatMap(findFiles), dirname))
    if (files.length > maxFiles)
      fail(
        `${folder} has ${files.length} files, more than ${maxFiles}. Make a folder of those that belong together.`,
      );
}
