import { readdir, stat } from "node:fs/promises";
import { extname, join, relative, resolve, sep } from "node:path";

import { getErrorMessage } from "@topicsync/lib/errors";
import type { PlacedFault } from "./document.ts";

const formats = { ".yaml": "document", ".yml": "document", ".json": "document", ".ndjson": "lines" } as const;
const extensions = Object.keys(formats);

/** A file of topics, and its name in the set: relative to the root of the repository, with slashes. */
export interface TopicFile {
  readonly file: string;
  readonly path: string;
  readonly format: (typeof formats)[keyof typeof formats];
}

export interface FoundFiles {
  readonly files: readonly TopicFile[];
  /** What was searched: files and folders, as paths of the set. */
  readonly paths: readonly string[];
  readonly faults: readonly PlacedFault[];
}

/**
 * Finds the files of topics at and below some paths. Nothing that cannot be read, and no folder without
 * files, counts as having no topics.
 */
export async function findTopicFiles(given: readonly string[], root: string): Promise<FoundFiles> {
  const files = new Map<string, TopicFile>();
  const faults: PlacedFault[] = [];
  const addFault = (file: string, message: string) =>
    faults.push({ place: { file, line: 1, column: 1 }, message });
  for (const path of given) {
    try {
      const found = (await stat(path)).isDirectory() ? await listFolder(path) : [path];
      if (found.length === 0)
        addFault(path, `the folder has no files that end with ${extensions.join(", ")}`);
      for (const file of found) {
        const format = getFormat(file);
        if (format === undefined) addFault(file, `the name must end with ${extensions.join(", ")}`);
        else files.set(resolve(file), { file, path: toSetPath(file, root), format });
      }
    } catch (error) {
      addFault(path, `cannot be read: ${getErrorMessage(error)}`);
    }
  }
  return { files: [...files.values()], paths: given.map((path) => toSetPath(path, root)), faults };
}

const getFormat = (file: string): TopicFile["format"] | undefined =>
  Object.entries(formats).find(([extension]) => extension === extname(file).toLowerCase())?.[1];

/** Hidden files and folders are left out. */
async function listFolder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory() && getFormat(entry.name) !== undefined)
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(
      (file) =>
        !relative(folder, file)
          .split(sep)
          .some((name) => name.startsWith(".")),
    )
    .toSorted();
}

const toSetPath = (file: string, root: string): string => relative(root, resolve(file)).split(sep).join("/");
