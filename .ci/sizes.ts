/**
 * Compares the lines of each room with its ceiling in sizes.json; see "Layout" in ARCHITECTURE.md.
 *
 *     node .ci/sizes.ts           # fails if a room is larger
 *     node .ci/sizes.ts --write   # after a room has become smaller, or has good reason to grow
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";

const file = new URL("sizes.json", import.meta.url);
const ceilings = JSON.parse(readFileSync(file, "utf8")) as Record<string, number>;

const countLines = (room: string): number =>
  globSync(`${room}/**/*.{ts,tsx}`).reduce(
    (sum, path) => sum + readFileSync(path, "utf8").split("\n").length - 1,
    0,
  );

const sizes = Object.fromEntries(Object.keys(ceilings).map((room) => [room, countLines(room)]));
if (process.argv.includes("--write")) {
  writeFileSync(file, `${JSON.stringify(sizes, undefined, 2)}\n`);
} else {
  for (const [room, ceiling] of Object.entries(ceilings)) {
    const lines = sizes[room] ?? 0;
    if (lines <= ceiling) continue;
    process.exitCode = 1;
    console.error(
      `${room} has ${lines} lines, ${lines - ceiling} more than its ceiling. Make it smaller, or raise the ceiling with "node .ci/sizes.ts --write" and say why in the commit.`,
    );
  }
}
