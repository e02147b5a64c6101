import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The path of the first of these programs that is on the PATH. */
export function findOnPath(...programs: readonly string[]): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return programs
    .flatMap((program) => folders.map((folder) => join(folder, program)))
    .find((path) => existsSync(path));
}
