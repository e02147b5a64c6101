/** The contracts as documents, as they are committed in this folder. */
import { readFile } from "node:fs/promises";

import { format, resolveConfig } from "prettier";

import { asyncApiDocument } from "../consumers/asyncapi.ts";
import { listOperations } from "../http/app.ts";
import { openApiDocument } from "../http/openapi/document.ts";
import { announcementsReference } from "./announcements-reference.ts";
import { httpReference } from "./http-reference.ts";

/** Stands for what an operation works with: describing operations calls none. */
const uncalled = undefined as never;

const operations = listOperations({
  topics: uncalled,
  topicListing: uncalled,
  topicSwitch: uncalled,
  topicIndex: uncalled,
  installations: uncalled,
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

/** The text of each page for people that ends with a reference, by the name of its file. */
export const references: Readonly<Record<string, () => Promise<string>>> = {
  "announcements.md": () => withReference("announcements.md", announcementsReference()),
  "http-api.md": () => withReference("http-api.md", httpReference(operations)),
};

const marker = "<!-- What follows is written by `npm run docs`. -->\n";

/** What was written by hand stays: the page up to the marker. Throws where there is none. */
async function withReference(name: string, reference: string): Promise<string> {
  const [byHand, ...rest] = (await readFile(new URL(name, import.meta.url), "utf8")).split(marker);
  if (byHand === undefined || rest.length !== 1) throw new Error(`docs/${name} must have the marker once`);
  return `${byHand}${marker}\n${reference}\n`;
}

/** A document as it is committed. */
export async function formatted(document: object): Promise<string> {
  return format(JSON.stringify(document), { ...(await resolveConfig(import.meta.filename)), parser: "json" });
}
