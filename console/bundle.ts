import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";

import { build } from "esbuild";

/** A file that was built. */
interface BuiltFile {
  readonly name: string;
  readonly bytes: number;
  /** With brotli, as browsers get it. */
  readonly compressed: number;
}

const sources = fileURLToPath(new URL("src/main.tsx", import.meta.url));
const page = new URL("index.html", import.meta.url);
const target = new URL("../dist/console/", import.meta.url);

/**
 * Bundles the console's scripts and styles, each named after its contents, and writes them with their
 * compressed forms and the page that loads them.
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
    footer: { js: await readLicenses() },
    logLevel: "warning",
  });
  await mkdir(target, { recursive: true });
  const built: BuiltFile[] = [];
  for (const { path, contents } of outputFiles) {
    const name = basename(path);
    const compressed = brotliCompressSync(contents);
    await put(name, contents);
    await put(`${name}.br`, compressed);
    built.push({ name, bytes: contents.length, compressed: compressed.length });
  }
  const named = (ending: string): string => built.find(({ name }) => name.endsWith(ending))?.name ?? "";
  const html = (await readFile(page, "utf8"))
    .replace("SCRIPT", `/console/files/${named(".js")}`)
    .replace("STYLE", `/console/files/${named(".css")}`);
  await put("index.html", html);
  await removeOthers(new Set(["index.html", ...built.flatMap(({ name }) => [name, `${name}.br`])]));
  return built;
}

/** The packages in the bundle, whose licenses require their text in every copy. */
const bundledPackages = ["preact", "wouter-preact", "uplot"];

async function readLicenses(): Promise<string> {
  const texts = await Promise.all(
    bundledPackages.map(async (name) => {
      const folder = new URL(`../node_modules/${name}/`, import.meta.url);
      const file = (await readdir(folder)).find((one) => /^licen[sc]e/i.test(one));
      return file === undefined ? name : `${name}\n\n${await readFile(new URL(file, folder), "utf8")}`;
    }),
  );
  return `/*!\n${texts.join("\n\n").replaceAll("*/", "* /")}\n*/`;
}

/** Replaces the file by a rename, so readers see either the old or the new content. */
async function put(name: string, contents: string | Uint8Array): Promise<void> {
  const draft = new URL(`.${name}.${process.pid}`, target);
  await writeFile(draft, contents);
  await rename(draft, new URL(name, target));
}

/** Removes the files of earlier builds. */
async function removeOthers(names: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(target))
    if (!names.has(name) && !name.startsWith(".")) await rm(new URL(name, target), { force: true });
}
