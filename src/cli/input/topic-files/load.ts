import { setNameSchema } from "../../../../schemas/topics/file.ts";
import {
  digestManaged,
  findDesiredFaults,
  formatPlace,
  toDesiredTopic,
  type DesiredEntry,
  type DesiredSet,
  type DesiredTopic,
  type FilePlace,
} from "../../../plans/desired.ts";
import type { PlacedFault } from "./document.ts";
import { findTopicFiles, type TopicFile } from "./find.ts";
import { formatMember, readTopicFile, type FileItem } from "./read.ts";

interface LoadOptions {
  /** The root of the repository. */
  readonly root: string;
  /** The set, if no file names it. */
  readonly set: string | undefined;
}

/** Reads and validates files. Returns all faults of all files if there are any. */
export async function loadTopicFiles(
  given: readonly string[],
  { root, set: givenSet }: LoadOptions,
): Promise<DesiredSet | { readonly faults: readonly PlacedFault[] }> {
  const { files, paths, faults: missing } = await findTopicFiles(given, root);
  const loader = new Loader(givenSet);
  loader.faults.push(...missing);
  for (const file of files) await loader.load(file);
  loader.checkRenamed();
  const { faults, topics, set } = loader;
  if (faults.length > 0 || set === undefined) {
    const place = { file: files[0]?.file ?? "", line: 1, column: 1 };
    const unnamed = { place, message: "no file names its set; add `set: NAME`, or use --set" };
    return { faults: faults.length > 0 ? faults : [unnamed] };
  }
  return {
    set,
    topics,
    files: files.length,
    paths,
    read: (externalIds) => readAgain(files, topics, externalIds),
  };
}

class Loader {
  readonly faults: PlacedFault[] = [];
  readonly topics = new Map<string, DesiredEntry>();
  set: string | undefined;
  #setPlace = "--set";

  constructor(set: string | undefined) {
    this.set = set;
    if (set !== undefined && !new RegExp(setNameSchema.pattern, "u").test(set))
      this.faults.push({
        place: { file: "--set", line: 1, column: 1 },
        message: `the name of a set must be ${setNameSchema.expected}`,
      });
  }

  async load(file: TopicFile): Promise<void> {
    for await (const item of readTopicFile(file)) {
      if (item.kind === "fault") this.faults.push(item);
      else if (item.kind === "set") this.#nameSet(item.set, item.place);
      else this.#add(toDesiredTopic(item.entry, file.path), item);
    }
  }

  #nameSet(set: string, place: FilePlace): void {
    if (this.set === undefined) [this.set, this.#setPlace] = [set, formatPlace(place)];
    if (this.set === set) return;
    const message = `the set is "${set}", but "${this.set}" at ${this.#setPlace}; a plan has one set`;
    this.faults.push({ place, message });
  }

  #add(topic: DesiredTopic, { place, locate }: Extract<FileItem, { kind: "topic" }>): void {
    const { externalId, isDraft, renamedFrom } = topic;
    for (const fault of findDesiredFaults(topic))
      this.faults.push({
        place: locate(fault.path),
        message: `${formatMember(fault.path)} ${fault.message}`,
      });
    const first = this.topics.get(externalId);
    if (first === undefined)
      this.topics.set(externalId, { ...place, digest: digestManaged(topic), isDraft, renamedFrom });
    else
      this.faults.push({
        place,
        message: `the external id "${externalId}" is already used at ${formatPlace(first)}`,
      });
  }

  /** Two topics cannot have been the same one. */
  checkRenamed(): void {
    const renamed = new Map<string, FilePlace>();
    for (const place of this.topics.values()) {
      const { renamedFrom } = place;
      if (renamedFrom === undefined) continue;
      const other = renamed.get(renamedFrom) ?? this.topics.get(renamedFrom);
      if (other !== undefined) {
        const message = `renamedFrom names "${renamedFrom}", which is also used at ${formatPlace(other)}`;
        this.faults.push({ place, message });
      }
      renamed.set(renamedFrom, place);
    }
  }
}

/** Throws if a file was changed since it was validated. */
async function* readAgain(
  files: readonly TopicFile[],
  topics: ReadonlyMap<string, DesiredEntry>,
  externalIds: ReadonlySet<string>,
): AsyncGenerator<DesiredTopic> {
  const wanted = new Set([...externalIds].map((id) => topics.get(id)?.file));
  let missing = externalIds.size;
  for (const file of files) {
    if (!wanted.has(file.file)) continue;
    for await (const item of readTopicFile(file)) {
      if (item.kind !== "topic" || !externalIds.has(item.entry.externalId)) continue;
      const topic = toDesiredTopic(item.entry, file.path);
      if (topics.get(topic.externalId)?.digest !== digestManaged(topic)) continue;
      missing -= 1;
      yield topic;
    }
  }
  if (missing > 0) throw new Error("a file was changed while it was read; repeat the command");
}
