/**
 * Keeps this program as the one that the next release must run beside: `node test/previous-release/build.ts`,
 * after each release. See README.md.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

import { readDependencies } from "../../deploy/npm/bundle.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: ["src/cli.ts"],
  bundle: true,
  minify: true,
  platform: "node",
  format: "esm",
  external: readDependencies(),
  write: false,
});
const [program] = outputFiles;
if (program === undefined) throw new Error("esbuild has built nothing");
writeFileSync(new URL("program.mjs.gz", import.meta.url), gzipSync(program.contents, { level: 9 }));
