import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";

import { HttpError } from "../framework/errors.ts";
import { operation, type Operation, type Reply } from "../framework/operation.ts";
import { pageHeaders } from "../framework/headers.ts";

/** The console as `npm run build` made it. */
export interface ConsoleFiles {
  /** The one HTML page, in which everything else happens. */
  readonly page: string;
  /** What the page loads, by name. Their names change with their contents. */
  readonly files: ReadonlyMap<string, { readonly plain: Buffer; readonly brotli: Buffer }>;
}

/** Beside the compiled program, or where the sources' build puts it. */
const folder = new URL(
  import.meta.url.endsWith(".ts") ? "../../dist/console/" : "../../console/",
  import.meta.url,
);

/** Reads the console's files; undefined where it was not built. */
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

/** Nothing but what this service itself serves. The styles have small images in them. */
const headers = {
  ...pageHeaders({
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", "data:"],
    connectSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  }),
  "Cache-Control": "no-cache",
};

/** `GET /console`: a page for people, and what it loads. */
export const consoleOperations = (console: ConsoleFiles | undefined): readonly Operation[] => [
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
    refusals: ["NOT_FOUND"],
    handle: ({ parameters: { file = "" }, acceptEncoding }) => fileReply(console, file, acceptEncoding),
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
    handle: () => ({ status: 302, headers: { Location: "/console" } }),
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
    refusals: ["NOT_FOUND"],
    handle() {
      if (console === undefined) throw new HttpError("NOT_FOUND", notBuilt.message, notBuilt);
      return { status: 200, text: { type: "text/html; charset=utf-8", content: console.page }, headers };
    },
  }),
];

const notBuilt = { message: "The console is not there.", detail: "Build it: npm run build." };

function fileReply(console: ConsoleFiles | undefined, name: string, acceptEncoding: string): Reply {
  const file = console?.files.get(name);
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
