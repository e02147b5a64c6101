import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";

import { HttpError } from "../../src/operations/framework/errors.ts";
import { operation, type Operation, type Reply } from "../../src/operations/framework/operation.ts";

/** The console, as built by `npm run build`. */
export interface ConsoleFiles {
  /** The single HTML page. `{base}` is replaced by the path below which browsers see the service. */
  readonly page: string;
  /** Files that the page loads, by name. Names contain a content hash. */
  readonly files: ReadonlyMap<string, { readonly plain: Buffer; readonly brotli: Buffer }>;
}

/** Next to the compiled program, or in dist/ when running from source. */
const folder = new URL(
  import.meta.url.endsWith(".ts") ? "../../dist/console/" : "./console/",
  import.meta.url,
);

/** Reads the console's files. Returns undefined if it is not built. */
export async function readConsoleFiles(): Promise<ConsoleFiles | undefined> {
  if (!existsSync(new URL("index.html", folder))) return undefined;
  const names = (await readdir(folder)).filter((name) => /\.(?:js|css)$/.test(name));
  const files = names.map(async (name) => {
    const [plain, brotli] = await Promise.all(
      [name, `${name}.br`].map((one) => readFile(new URL(one, folder))),
    );
    return [name, { plain, brotli }] as const;
  });
  return {
    page: await readFile(new URL("index.html", folder), "utf8"),
    files: new Map(await Promise.all(files)) as ConsoleFiles["files"],
  };
}

/** `GET /console`, and the files that the page loads. */
export const consoleOperations = (files: ConsoleFiles | undefined): readonly Operation[] => [
  operation({
    id: "getConsoleFile",
    method: "GET",
    paths: ["/console/files/{file}"],
    access: "anybody",
    tag: "console",
    summary: "Get a console file",
    description: "Scripts and styles. File names contain a content hash, so files may be cached forever.",
    parameters: { file: "Name of the file, as referenced by the page." },
    replies: { 200: { description: "The file.", mediaType: "text/*" } },
    rejections: ["NOT_FOUND"],
    handle: ({ parameters: { file = "" }, acceptEncoding }) => getFile(files, file, acceptEncoding),
  }),
  operation({
    id: "redirectToConsole",
    method: "GET",
    paths: ["/"],
    access: "anybody",
    tag: "console",
    summary: "Redirect to the console",
    description: "The root of the service redirects to the console.",
    replies: { 302: { description: "Redirect to the console." } },
    handle: ({ basePath }) => ({ status: 302, headers: { Location: `${basePath}/console` } }),
  }),
  operation({
    id: "getConsole",
    method: "GET",
    paths: ["/console", "/console/{page}", "/console/{page}/{item}"],
    access: "anybody",
    tag: "console",
    summary: "Get the console",
    description: "The console's single HTML page. It is served for every console path.",
    parameters: { page: "Section of the console.", item: "Item shown in that section." },
    replies: { 200: { description: "The HTML page.", mediaType: "text/html" } },
    rejections: ["NOT_FOUND"],
    page: true,
    handle({ basePath }) {
      if (files === undefined) {
        throw new HttpError("NOT_FOUND", "The console is not built.", { detail: "Run: npm run build" });
      }
      return {
        status: 200,
        text: { type: "text/html", content: files.page.replaceAll("{base}", basePath) },
        headers: { "Cache-Control": "no-cache" },
      };
    },
  }),
];

function getFile(consoleFiles: ConsoleFiles | undefined, name: string, acceptEncoding: string): Reply {
  const file = consoleFiles?.files.get(name);
  if (file === undefined) throw new HttpError("NOT_FOUND", `The console has no file "${name}".`);
  const compressed = /\bbr\b/.test(acceptEncoding);
  return {
    status: 200,
    text: {
      type: `text/${name.endsWith(".css") ? "css" : "javascript"}; charset=utf-8`,
      content: compressed ? file.brotli : file.plain,
    },
    headers: {
      "Cache-Control": "public, max-age=31536000, immutable",
      Vary: "Accept-Encoding",
      ...(compressed ? { "Content-Encoding": "br" } : {}),
    },
  };
}
