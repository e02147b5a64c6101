/** The contracts as they are committed in this folder. */
import { format, resolveConfig } from "prettier";

import { publishSchema } from "@topicsync/lib/published-schema";
import { asyncApiDocument } from "./asyncapi.ts";
import { topicFileSchema } from "../schemas/topics/file.ts";
import { topicPlanReportSchema, topicPlanSchema } from "../schemas/topics/plan.ts";
import { listOperations } from "../http/app.ts";
import { buildOpenApiDocument } from "../http/openapi/document.ts";

/** Every operation of the HTTP API. */
export const operations = listOperations({
  openId: undefined,
  checkToken: undefined,
  consoleFiles: undefined,
  isManagedApart: false,
});

/** The text of each document by file name. */
export const contracts: Readonly<Record<string, () => Promise<string>>> = {
  "asyncapi.json": () => formatJson(asyncApiDocument()),
  "openapi.json": () => formatJson(buildOpenApiDocument(operations)),
};

/** The text of each published JSON Schema of a file by file name. */
export const fileSchemas: Readonly<Record<string, () => Promise<string>>> = {
  "topic-file.schema.json": () => formatJson(toFileSchema(topicFileSchema)),
  "topic-plan.schema.json": () => formatJson(toFileSchema(topicPlanSchema)),
  "topic-plan-report.schema.json": () => formatJson(toFileSchema(topicPlanReportSchema)),
};

const toFileSchema = (schema: object): object => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  ...publishSchema(schema),
});

/** Formats a document as it is committed. */
export async function formatJson(document: object): Promise<string> {
  return format(JSON.stringify(document), { ...(await resolveConfig(import.meta.filename)), parser: "json" });
}
