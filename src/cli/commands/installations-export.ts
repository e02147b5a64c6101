import { open, type FileHandle } from "node:fs/promises";

import { Option, type Command } from "commander";

import { toInstallationView } from "../../installations/installation.ts";
import { toCursor } from "../../installations/listing.ts";
import { getErrorMessage, UnavailableError } from "../../lib/errors.ts";
import { runWithContext, type CommandContext } from "../context.ts";
import { formatCount } from "../output/format.ts";
import { openOutput, printError } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { addInstallationFlags, toInstallationQuery, type InstallationFlags } from "./installation-flags.ts";

interface ExportFlags extends InstallationFlags {
  readonly out?: string;
  readonly resume?: true;
  readonly after?: string;
}

export function addExportCommand(installations: Command): void {
  addInstallationFlags(installations.command("export"))
    .description("write installations with their full tokens as NDJSON, sorted by id")
    .option("--out <file>", "write to this new file instead of standard output")
    .option("--resume", "continue the file of --out where it ends")
    .addOption(new Option("--after <cursor>", "continue where an export stopped").conflicts("resume"))
    .action((flags: ExportFlags, command: Command) => {
      if (flags.resume && flags.out === undefined) command.error("error: --resume requires --out FILE");
      return runWithContext((context) => exportAll(context, flags));
    });
}

interface Target {
  /** The cursor to continue at; undefined from the beginning. */
  readonly after: string | undefined;
  /** Resolves to false once the reader has closed the pipe. */
  write(text: string): Promise<boolean>;
  close(): Promise<void>;
}

async function exportAll({ services, abort, audit }: CommandContext, flags: ExportFlags): Promise<void> {
  const { installationReader, installationListing } = await services();
  const total = await installationReader.estimateCount();
  const target = flags.out === undefined ? openStandardOutput(flags.after) : await openFile(flags.out, flags);
  const progress = createProgress("exporting", total, process.stderr);
  let { after } = target;
  let count = 0;
  let totalScanned = 0;
  const record = audit();
  try {
    const chunks = installationListing.streamAll(toInstallationQuery(flags), after);
    for await (const { installations, lastId, scanned } of chunks) {
      const views = installations.map((one) => toInstallationView(one, { fullTokens: true }));
      count += views.length;
      if (!(await target.write(views.map((view) => `${JSON.stringify(view)}\n`).join("")))) return;
      if (lastId !== undefined) after = toCursor(lastId);
      totalScanned += scanned;
      progress.at(Math.min(totalScanned, total));
      if (abort.aborted)
        throw new UnavailableError(`interrupted after ${formatCount(count, "installation")}`);
    }
    progress.end(`exported ${formatCount(count, "installation")}`);
  } catch (error) {
    const option = flags.out === undefined ? after && `--after ${after}` : "--resume";
    printError(`export incomplete: ${option === undefined ? "start again" : `continue with ${option}`}`);
    throw error;
  } finally {
    if (count > 0) record({ action: "installations.read-tokens", count });
    await target.close();
  }
}

function openStandardOutput(after: string | undefined): Target {
  const output = openOutput();
  return { after, write: (text) => output.write(text), close: () => Promise.resolve() };
}

async function openFile(file: string, { resume, after }: ExportFlags): Promise<Target> {
  const handle = await open(file, resume ? "r+" : "wx", ownerOnly).catch((error: unknown) => {
    throw new Error(`cannot write ${file}: ${getErrorMessage(error)}`, { cause: error });
  });
  const end = resume ? await findEnd(handle, file) : { bytes: 0, after };
  let position = end.bytes;
  return {
    after: end.after,
    async write(text) {
      const { bytesWritten } = await handle.write(text, position);
      position += bytesWritten;
      return true;
    },
    async close() {
      await handle.sync();
      await handle.close();
    },
  };
}

/** The file holds full tokens. */
const ownerOnly = 0o600;

/** No line is longer: a token of 4,096 characters and twenty owners. */
const maxLineBytes = 512 * 1024;

/** Truncates a partly written last line. Returns the file's size and the cursor of its last installation. */
async function findEnd(
  handle: FileHandle,
  file: string,
): Promise<{ readonly bytes: number; readonly after: string | undefined }> {
  const { size } = await handle.stat();
  const start = Math.max(0, size - maxLineBytes);
  const tail = Buffer.alloc(size - start);
  await handle.read(tail, 0, tail.length, start);
  const end = tail.lastIndexOf("\n") + 1;
  const bytes = end === 0 ? 0 : start + end;
  if (bytes === 0 && size >= maxLineBytes) throw new Error(`${file} is not an export of installations`);
  await handle.truncate(bytes);
  if (bytes === 0) return { bytes, after: undefined };
  const line = tail.subarray(end < 2 ? 0 : tail.lastIndexOf("\n", end - 2) + 1, end).toString();
  return { bytes, after: toCursor(parseId(line, file)) };
}

function parseId(line: string, file: string): string {
  try {
    const { id } = JSON.parse(line) as { id?: unknown };
    if (typeof id === "string") return id;
  } catch {
    // Reported below.
  }
  throw new Error(`${file} is not an export of installations: its last line has no id`);
}
