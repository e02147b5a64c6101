import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const isJoined = (file: string): boolean => readFileSync(file, "utf8").includes("/shared-service.ts");

/**
 * Replaces the test files of a folder that share a service (`shared-service.ts`) by one file that imports
 * them, at the place of the first. It is written to `folder`.
 */
export function joinFiles(files: readonly string[], folder: string): string[] {
  const joined = new Map(
    [...Map.groupBy(files.filter(isJoined), (file) => dirname(file))].map(([from, those]) => {
      const entry = join(folder, `${basename(from)}.joined.mjs`);
      const toImport = (file: string): string => `import "${pathToFileURL(resolve(file)).href}";\n`;
      writeFileSync(entry, those.map(toImport).join(""));
      return [from, entry] as const;
    }),
  );
  return [...new Set(files.map((file) => (isJoined(file) ? (joined.get(dirname(file)) ?? file) : file)))];
}
