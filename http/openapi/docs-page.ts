import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import { cached } from "@topicsync/lib/concurrency/cached";
import { HttpError } from "../../src/operations/framework/errors.ts";
import { operation, type Operation, type Reply } from "../../src/operations/framework/operation.ts";
import { buildOpenApiDocument, type SecuritySchemes } from "./document.ts";

const buildPage = (basePath: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>topicsync</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="${basePath}/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="page"></div>
    <script src="${basePath}/docs/swagger-ui-bundle.js"></script>
    <script src="${basePath}/docs/page.js"></script>
  </body>
</html>
`;

/**
 * A file of its own, since the page allows no inline script. \`validatorUrl\` would send the document to a
 * third party.
 */
const buildScript = (basePath: string): string => `"use strict";
SwaggerUIBundle({
  url: "${basePath}/openapi.json",
  dom_id: "#page",
  deepLinking: true,
  displayRequestDuration: true,
  validatorUrl: null,
});
`;

const resolve = createRequire(import.meta.url).resolve;
const fromPackage = (file: string) => cached(() => readFile(resolve(`swagger-ui-dist/${file}`)));

interface Asset {
  readonly type: string;
  readonly read: (basePath: string) => string | Promise<Buffer>;
}

/** The page's files. A path from a request never reaches the file system. */
const assets: ReadonlyMap<string, Asset> = new Map([
  ["page.js", { type: "text/javascript", read: buildScript }],
  ["swagger-ui-bundle.js", { type: "text/javascript", read: fromPackage("swagger-ui-bundle.js") }],
  ["swagger-ui.css", { type: "text/css", read: fromPackage("swagger-ui.css") }],
]);

/**
 * `GET /openapi.json`, which describes these operations and its own, and `GET /docs`, a page that shows it.
 */
export function documentationOperations(
  described: readonly Operation[],
  schemes?: SecuritySchemes,
): readonly Operation[] {
  let document: string | undefined;
  const own: readonly Operation[] = [
    operation({
      id: "getOpenApi",
      method: "GET",
      paths: ["/openapi.json"],
      access: "anybody",
      tag: "documentation",
      summary: "Get the OpenAPI document",
      description: "An OpenAPI 3.1 document that describes all operations.",
      replies: { 200: { description: "The OpenAPI document.", schema: openApiSchema } },
      handle({ basePath }) {
        document ??= JSON.stringify(buildOpenApiDocument([...described, ...own], schemes, basePath));
        return {
          status: 200,
          text: { type: "application/json", content: document },
          headers: { "Cache-Control": "public, max-age=3600" },
        };
      },
    }),
    operation({
      id: "getDocs",
      method: "GET",
      paths: ["/docs"],
      access: "anybody",
      tag: "documentation",
      summary: "API documentation page",
      description: "Swagger UI, where the operations can be tried out.",
      replies: { 200: { description: "The HTML page.", mediaType: "text/html" } },
      page: true,
      handle: ({ basePath }) => ({
        status: 200,
        text: { type: "text/html", content: buildPage(basePath) },
        headers: { "Cache-Control": "no-cache" },
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
      rejections: ["NOT_FOUND"],
      handle: ({ parameters: { file = "" }, basePath }) => getAsset(file, basePath),
    }),
  ];
  return own;
}

async function getAsset(name: string, basePath: string): Promise<Reply> {
  const asset = assets.get(name);
  if (asset === undefined) throw new HttpError("NOT_FOUND", `The documentation page has no file "${name}".`);
  return {
    status: 200,
    text: { type: `${asset.type}; charset=utf-8`, content: await asset.read(basePath) },
    headers: { "Cache-Control": "public, max-age=86400" },
  };
}

const openApiSchema = {
  $id: "open-api",
  type: "object",
  description: "An OpenAPI 3.1 document.",
  required: ["openapi", "info", "paths"],
  properties: {
    openapi: { type: "string", pattern: "^3\\.1\\." },
    info: { type: "object" },
    paths: { type: "object" },
  },
} as const;
