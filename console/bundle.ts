import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";

import { build } from "esbuild";

/** A file that was built. */
export interface BuiltFile {
  readonly name: string;
  readonly bytes: number;
  /** With brotli, as browsers get it. */
  readonly compressed: number;
}

const sources = fileURLToPath(new URL("src/main.tsx", import.meta.url));
const page = new URL("index.html", import.meta.url);
const target = new URL("../dist/console/", import.meta.url);

/**
 * Bundles the console's scripts and styles, each named after its contents, and writes them with their compressed forms and
 * the page that loads them.
 */
export async function buildConsole(): Promise<readonly BuiltFile[]> {
  const { outputFiles } = await build({
    entryPoints: [sources],
    entryNames: "console-[hash]",
    outdir: fileURLToPath(target),
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: ["chrome120", "firefox120", "safari17"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "eof",
    logLevel: "warning",
  });
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  const built: BuiltFile[] = [];
  for (const { path, contents } of outputFiles) {
    const name = basename(path);
    const compressed = brotliCompressSync(contents);
    await writeFile(new URL(name, target), contents);
    await writeFile(new URL(`${name}.br`, target), compressed);
    built.push({ name, bytes: contents.length, compressed: compressed.length });
  }
  const named = (ending: string): string => built.find(({ name }) => name.endsWith(ending))?.name ?? "";
  const html = (await readFile(page, "utf8"))
    .replace("SCRIPT", `/console/files/${named(".js")}`)
    .replace("STYLE", `/console/files/${named(".css")}`);
  await writeFile(new URL("index.html", target), html);
  return built;
}
