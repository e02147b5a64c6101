import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { stringify } from "yaml";

import { getErrorMessage } from "@topicsync/lib/errors";
import type { TopicView } from "../../../../schemas/topics/view.ts";
import { toPlannedState } from "../../../plans/plan.ts";
import { noDetails, toDetails } from "../../../topics/details/details.ts";
import { toDefinition } from "../../../topics/topic.ts";
import { runWithClient } from "../../client/client.ts";
import { readTopics } from "../../client/topics.ts";
import { formatCount } from "../../output/format.ts";
import { printJson, printLine } from "../../output/output.ts";
import type { ExportFlags } from "./export.ts";

/** Files of this size can be read back, and by people. */
const topicsPerFile = 5_000;
const charactersPerFile = 4_000_000;

/** Writes files as `topics plan` reads them, one for each namespace, into an empty folder. */
export async function exportYaml(flags: ExportFlags): Promise<void> {
  const { out = "", set, json } = flags;
  await prepareFolder(out);
  const writer = new FolderWriter(out, set);
  await runWithClient(flags, async (client) => {
    for await (const topic of readTopics(client, flags, { showsCount: true })) await writer.add(topic);
  });
  await writer.end();
  const result = { exported: writer.topics, files: writer.files, folder: out };
  if (json) printJson(result);
  else
    printLine(
      `exported ${formatCount(result.exported, "topic")} to ${formatCount(result.files, "file")} in ${out}`,
    );
}

async function prepareFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    if ((await readdir(folder)).length > 0) throw new Error("it is not empty");
  } catch (error) {
    throw new Error(`cannot write to the folder ${folder}: ${getErrorMessage(error)}`, { cause: error });
  }
}

interface OpenFile {
  readonly name: string;
  entries: string[];
  characters: number;
  part: number;
}

class FolderWriter {
  readonly #folder: string;
  readonly #set: string | undefined;
  readonly #open = new Map<string, OpenFile>();
  readonly #names = new Set<string>();
  topics = 0;
  files = 0;

  constructor(folder: string, set: string | undefined) {
    this.#folder = folder;
    this.#set = set;
  }

  async add(topic: TopicView): Promise<void> {
    const file = this.#getFile(topic.namespace);
    const entry = formatEntry(topic);
    file.characters += entry.length;
    file.entries.push(entry);
    this.topics += 1;
    if (file.entries.length >= topicsPerFile || file.characters >= charactersPerFile) await this.#write(file);
  }

  async end(): Promise<void> {
    for (const file of this.#open.values()) if (file.entries.length > 0) await this.#write(file);
    if (this.files === 0) await this.#write(this.#getFile(""));
  }

  #getFile(namespace: string): OpenFile {
    let file = this.#open.get(namespace);
    if (file === undefined) {
      file = { name: this.#createName(namespace), entries: [], characters: 0, part: 1 };
      this.#open.set(namespace, file);
    }
    return file;
  }

  /** Not every namespace is the name of a file, and some file systems ignore case. */
  #createName(namespace: string): string {
    const base = namespace === "" ? "topics" : namespace.slice(0, 100).replaceAll(/[^\w-]+/g, "_");
    let name = base;
    for (let at = 2; this.#names.has(name.toLowerCase()); at += 1) name = `${base}_${at}`;
    this.#names.add(name.toLowerCase());
    return name;
  }

  async #write(file: OpenFile): Promise<void> {
    const head = this.#set === undefined ? "" : stringify({ set: this.#set });
    const topics = file.entries.length === 0 ? "topics: []\n" : `topics:\n${file.entries.join("")}`;
    const name = file.part === 1 ? file.name : `${file.name}.${file.part}`;
    await writeFile(join(this.#folder, `${name}.yaml`), head + topics);
    this.files += 1;
    file.part += 1;
    [file.entries, file.characters] = [[], 0];
  }
}

/** An item of `topics`; members that say nothing are left out. */
function formatEntry({ details: view, ...topic }: TopicView): string {
  const { externalId } = topic;
  const details = view === undefined ? noDetails : toDetails(view);
  const state = Object.entries(toPlannedState({ externalId, definition: toDefinition(topic), details }));
  return stringify([Object.fromEntries(state.filter(([, value]) => value !== ""))], { lineWidth: 0 });
}
