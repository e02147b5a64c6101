import { open, rename, rm } from "node:fs/promises";

import { getErrorMessage, UnavailableError } from "../../lib/errors.ts";
import type { TopicDefinition } from "../../topics/topic.ts";
import type { CommandContext } from "../context.ts";
import { formatCount } from "../output/format.ts";
import { printError, openOutput, printLine, type Output } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { streamExported } from "./exported-topics.ts";
import type { TopicChoiceFlags } from "./topic-choice.ts";

export interface ExportFlags extends TopicChoiceFlags {
  readonly format?: "ndjson" | "yaml";
  readonly out?: string;
  readonly json?: true;
  readonly at?: Date;
}

/** Lines written together, for speed. */
const linesPerWrite = 500;

/** Writes definitions as NDJSON to a file or to standard output. */
export async function exportTopics(context: CommandContext, flags: ExportFlags): Promise<void> {
  const { out, json } = flags;
  if (out === undefined) {
    const count = await writeDefinitions(openOutput(), context, flags);
    printError(`exported ${formatCount(count, "topic")}`);
    return;
  }
  const count = await replaceFile(out, (output) => writeDefinitions(output, context, flags));
  printLine(
    json
      ? JSON.stringify({ exported: count, file: out })
      : `exported ${formatCount(count, "topic")} to ${out}`,
  );
}

async function writeDefinitions(
  output: Output,
  { services, abort }: CommandContext,
  flags: ExportFlags,
): Promise<number> {
  const sources = await services();
  const total = await sources.topicReader.estimateCount();
  // On one terminal, the lines and the progress bar would overwrite each other.
  const showsProgress = flags.out !== undefined || !process.stdout.isTTY;
  const progress = showsProgress ? createProgress("exporting topics", total, process.stderr) : undefined;
  let lines: string[] = [];
  let done = 0;
  const flush = async (): Promise<boolean> => {
    const text = lines.join("");
    lines = [];
    progress?.at(Math.min(done, total));
    return text === "" || output.write(text);
  };
  for await (const { topic } of streamExported(sources, flags)) {
    if (abort.aborted) throw new UnavailableError(`stopped after ${formatCount(done, "topic")}`);
    lines.push(`${formatDefinition(topic)}\n`);
    done += 1;
    if (lines.length === linesPerWrite && !(await flush())) return done;
  }
  await flush();
  progress?.end(`${formatCount(done, "topic")} read`);
  return done;
}

/** A definition as `topics import` and `announce` read it. */
const formatDefinition = ({
  externalId,
  name,
  namespace,
  headerQuery,
  contentQuery,
}: TopicDefinition): string => JSON.stringify({ externalId, name, namespace, headerQuery, contentQuery });

/** Writes to a temporary file and renames it at the end, so that the file is never incomplete. */
async function replaceFile<T>(file: string, work: (output: Output) => Promise<T>): Promise<T> {
  const part = `${file}.part`;
  const handle = await open(part, "w").catch((error: unknown) => {
    throw new Error(`cannot write ${part}: ${getErrorMessage(error)}`, { cause: error });
  });
  try {
    const result = await work({
      write: async (data) => {
        await handle.writeFile(data);
        return true;
      },
    });
    await handle.sync();
    await handle.close();
    await rename(part, file);
    return result;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(part, { force: true });
    throw error;
  }
}
