import { jsonType } from "../framework/answer.ts";
import { openApiDocument, type SecuritySchemes } from "./document.ts";
import { docsPageOperations } from "./docs-page.ts";
import { operation, type Operation } from "../framework/operation.ts";

/** `GET /openapi.json`, which describes these operations and itself, and the page that shows it. */
export function documentationOperations(
  described: readonly Operation[],
  schemes?: SecuritySchemes,
): readonly Operation[] {
  /** Made once: anybody may ask for it. */
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
      handle() {
        document ??= JSON.stringify(openApiDocument([...described, ...own], schemes));
        return {
          status: 200,
          text: { type: jsonType, content: document },
          headers: { "Cache-Control": "public, max-age=3600" },
        };
      },
    }),
    ...docsPageOperations,
  ];
  return own;
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
