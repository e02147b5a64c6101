import { open, type FileHandle } from "node:fs/promises";

import { Option, type Command } from "commander";

import { toInstallationView } from "../../installations/installation.ts";
import { cursorAfter } from "../../installations/listing.ts";
import { createInstallationReader } from "../../storage/installation-reader.ts";
import { getErrorMessage, UnavailableError } from "../../lib/errors.ts";
import { runCommand, type CommandContext } from "../context.ts";
import {
  createListing,
  toInstallationQuery,
  withInstallationFlags,
  type InstallationFlags,
} from "./installation-flags.ts";
import { printError, openOutput } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";

interface ExportFlags extends InstallationFlags {
  readonly out?: string;
  readonly resume?: true;
  readonly after?: string;
}

/** Adds `topicsync installations export`. */
export function addExportCommand(installations: Command): void {
  withInstallationFlags(installations.command("export"))
    .description("write whole installations as NDJSON, tokens and all, in the order of their ids")
    .option("--out <file>", "write to this file, which must not exist; otherwise to standard output")
    .option("--resume", "go on with the file of --out where it was left")
    .addOption(new Option("--after <cursor>", "go on where an export was stopped").conflicts("resume"))
    .action((flags: ExportFlags, command: Command) => {
      if (flags.resume && flags.out === undefined)
        command.error("error: --resume needs the file: --out FILE");
      return runCommand((connection) => exportAll(connection, flags));
    });
}

/** Where the export goes. */
interface Target {
  /** Where it goes on; undefined from the beginning. */
  readonly after: string | undefined;
  /** False once nobody reads any more. */
  write(text: string): Promise<boolean>;
  close(): Promise<void>;
}

async function exportAll({ database, abort }: CommandContext, flags: ExportFlags): Promise<void> {
  const store = await database();
  const total = await createInstallationReader(store).count();
  const target = flags.out === undefined ? standardOutput(flags.after) : await fileTarget(flags.out, flags);
  const progress = createProgress("exporting", total, process.stderr);
  let { after } = target;
  let [count, looked] = [0, 0];
  try {
    for await (const stretch of createListing(store).all(toInstallationQuery(flags), after)) {
      const views = stretch.installations.map((one) => toInstallationView(one, { fullTokens: true }));
      if (!(await target.write(views.map((view) => `${JSON.stringify(view)}\n`).join("")))) return;
      if (stretch.last !== undefined) after = cursorAfter(stretch.last);
      count += views.length;
      looked += stretch.looked;
      progress.at(Math.min(looked, total));
      if (abort.aborted) throw new UnavailableError(`stopped after ${count} installations`);
    }
    progress.end(`exported ${count} installations`);
  } catch (error) {
    const where = flags.out === undefined ? `--after ${after ?? "(the beginning)"}` : "--resume";
    printError(`not all is exported: go on with ${where}`);
    throw error;
  } finally {
    await target.close();
  }
}

function standardOutput(after: string | undefined): Target {
  const output = openOutput();
  return { after, write: (text) => output.write(text), close: () => Promise.resolve() };
}

async function fileTarget(file: string, { resume, after }: ExportFlags): Promise<Target> {
  const handle = await open(file, resume ? "r+" : "wx", ownerOnly).catch((error: unknown) => {
    throw new Error(`cannot write ${file}: ${getErrorMessage(error)}`, { cause: error });
  });
  const left = resume ? await resumeIn(handle, file) : { bytes: 0, after };
  let at = left.bytes;
  return {
    after: left.after,
    async write(text) {
      const { bytesWritten } = await handle.write(text, at);
      at += bytesWritten;
      return true;
    },
    async close() {
      await handle.sync();
      await handle.close();
    },
  };
}

/** Nobody else may read tokens. */
const ownerOnly = 0o600;

/** More than any line has: a token of 4,096 characters and twenty owners. */
const maxLine = 512 * 1024;

/** Cuts a line off that was written in part, and tells behind which installation to go on. */
async function resumeIn(
  handle: FileHandle,
  file: string,
): Promise<{ readonly bytes: number; readonly after: string | undefined }> {
  const { size } = await handle.stat();
  const start = Math.max(0, size - maxLine);
  const tail = Buffer.alloc(size - start);
  await handle.read(tail, 0, tail.length, start);
  const end = tail.lastIndexOf("\n") + 1;
  const bytes = end === 0 ? 0 : start + end;
  if (bytes === 0 && size >= maxLine) throw new Error(`${file} is no export of installations`);
  await handle.truncate(bytes);
  if (bytes === 0) return { bytes, after: undefined };
  const line = tail.subarray(end < 2 ? 0 : tail.lastIndexOf("\n", end - 2) + 1, end).toString();
  return { bytes, after: cursorAfter(idIn(line, file)) };
}

function idIn(line: string, file: string): string {
  try {
    const { id } = JSON.parse(line) as { id?: unknown };
    if (typeof id === "string") return id;
  } catch {
    // Said below.
  }
  throw new Error(`${file} is no export of installations: its last line has no id`);
}
