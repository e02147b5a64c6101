import { createRequire } from "node:module";

/** The program's version. Found by the package's own name: the sources and the built program lie at different depths. */
export const { version } = createRequire(import.meta.url)("topicsync/package.json") as {
  readonly version: string;
};
