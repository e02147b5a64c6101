import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import { cached } from "../../src/lib/cached.ts";
import { HttpError } from "../framework/errors.ts";
import { operation, type Operation, type Reply } from "../framework/operation.ts";

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>topicsync</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="page"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/page.js"></script>
  </body>
</html>
`;

/** A file of its own: the page allows no script that stands in it. Without \`validatorUrl\` a stranger would see the document. */
const pageScript = `"use strict";
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#page",
  deepLinking: true,
  displayRequestDuration: true,
  validatorUrl: null,
});
`;

/** Nothing but what this service itself serves; Swagger UI's styles have images in them. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const resolve = createRequire(import.meta.url).resolve;
/** Read once: anybody may ask for it. */
const fromPackage = (file: string) => cached(() => readFile(resolve(`swagger-ui-dist/${file}`)), {});

interface Asset {
  readonly type: string;
  readonly read: () => string | Promise<Buffer>;
}

/** The only files there are: a path of the request never reaches the disk. */
const assets: ReadonlyMap<string, Asset> = new Map([
  ["page.js", { type: "text/javascript", read: () => pageScript }],
  ["swagger-ui-bundle.js", { type: "text/javascript", read: fromPackage("swagger-ui-bundle.js") }],
  ["swagger-ui.css", { type: "text/css", read: fromPackage("swagger-ui.css") }],
]);

/** `GET /docs`, a page that shows the OpenAPI document and lets its operations be tried out, and the page's files. */
export const docsPageOperations: readonly Operation[] = [
  operation({
    id: "getDocs",
    method: "GET",
    paths: ["/docs"],
    access: "anybody",
    tag: "documentation",
    summary: "API documentation page",
    description: "Swagger UI, where the operations can be tried out.",
    replies: { 200: { description: "The HTML page.", mediaType: "text/html" } },
    handle: () => ({
      status: 200,
      text: { type: "text/html; charset=utf-8", content: page },
      headers: { "Cache-Control": "no-cache", "Content-Security-Policy": pagePolicy },
    }),
  }),
  operation({
    id: "getDocsFile",
    method: "GET",
    paths: ["/docs/{file}"],
    access: "anybody",
    tag: "documentation",
    summary: "Get a file of the documentation page",
    description: "Scripts and styles of the documentation page.",
    parameters: { file: "Name of the file, as referenced by the page." },
    replies: { 200: { description: "The file.", mediaType: "text/*" } },
    refusals: ["NOT_FOUND"],
    handle: ({ parameters: { file = "" } }) => fileReply(file),
  }),
];

async function fileReply(name: string): Promise<Reply> {
  const asset = assets.get(name);
  if (asset === undefined) throw new HttpError("NOT_FOUND", `The page has no file "${name}".`);
  return {
    status: 200,
    text: { type: `${asset.type}; charset=utf-8`, content: await asset.read() },
    headers: { "Cache-Control": "public, max-age=86400" },
  };
}
