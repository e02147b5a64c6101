/** The contracts as documents, as they are committed in this folder. */
import { format, resolveConfig } from "prettier";

import { asyncApiDocument } from "../consumers/asyncapi.ts";
import { operationsOf } from "../http/app.ts";
import { openApiDocument } from "../http/openapi.ts";

/** Stands for what an operation works with: describing operations calls none. */
const uncalled = undefined as never;

const operations = operationsOf({
  topics: uncalled,
  directory: uncalled,
  installations: uncalled,
  listing: uncalled,
  deactivator: uncalled,
  users: uncalled,
  applications: uncalled,
  platforms: uncalled,
  checkReadiness: uncalled,
  metrics: uncalled,
  syncStatus: uncalled,
  overview: uncalled,
  deadLetters: uncalled,
  sessions: uncalled,
  verify: uncalled,
  openId: undefined,
  checkToken: undefined,
  consoleFiles: undefined,
});

/** The text of each document, by the name of its file. */
export const contracts: Readonly<Record<string, () => Promise<string>>> = {
  "asyncapi.json": () => formatted(asyncApiDocument()),
  "openapi.json": () => formatted(openApiDocument(operations)),
};

/** A document as it is committed. */
export async function formatted(document: object): Promise<string> {
  return format(JSON.stringify(document), { ...(await resolveConfig(import.meta.filename)), parser: "json" });
}
