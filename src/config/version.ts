import { createRequire } from "node:module";

/** The program's version. Resolved by package name, since sources and built files are at different depths. */
export const { version } = createRequire(import.meta.url)("topicsync/package.json") as {
  readonly version: string;
};
