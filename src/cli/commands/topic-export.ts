import { open, rename, rm } from "node:fs/promises";

import { getErrorMessage, UnavailableError } from "../../lib/errors.ts";
import { listTopics } from "../../storage/topic-list.ts";
import { countTopics } from "../../storage/topic-stream.ts";
import type { CommandContext } from "../context.ts";
import { formatCount } from "../output/format.ts";
import { printError, openOutput, printLine, type Output } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { toTopicChoice, type TopicChoiceFlags } from "./topic-choice.ts";
import { definitionJson } from "../output/topic-view.ts";

export interface ExportFlags extends TopicChoiceFlags {
  readonly out?: string;
  readonly json?: true;
}

/** Lines are written together, for speed. */
const linesAtOnce = 500;

/** Writes definitions, one on each line, to a file or to standard output. */
export async function exportTopics(connection: CommandContext, flags: ExportFlags): Promise<void> {
  const { out, json } = flags;
  if (out === undefined) {
    const count = await writeTo(openOutput(), connection, flags);
    printError(`exported ${formatCount(count, "topic")}`);
    return;
  }
  const count = await intoFile(out, (output) => writeTo(output, connection, flags));
  printLine(
    json
      ? JSON.stringify({ exported: count, file: out })
      : `exported ${formatCount(count, "topic")} to ${out}`,
  );
}

async function writeTo(
  output: Output,
  { database, abort }: CommandContext,
  flags: ExportFlags,
): Promise<number> {
  const store = await database();
  const total = await countTopics(store);
  // Lines and a bar on one terminal would be written into each other.
  const isSeen = flags.out !== undefined || !process.stdout.isTTY;
  const progress = isSeen ? createProgress("exporting topics", total, process.stderr) : undefined;
  let lines: string[] = [];
  let done = 0;
  const flush = async (): Promise<boolean> => {
    const text = lines.join("");
    lines = [];
    progress?.at(Math.min(done, total));
    return text === "" || output.write(text);
  };
  for await (const topic of listTopics(store, toTopicChoice(flags))) {
    if (abort.aborted) throw new UnavailableError(`stopped after ${done} topics`);
    lines.push(`${definitionJson(topic)}\n`);
    done += 1;
    if (lines.length === linesAtOnce && !(await flush())) return done;
  }
  await flush();
  progress?.end(`${formatCount(done, "topic")} are read`);
  return done;
}

/** The file is there only once it is whole: what was there before is replaced then. */
async function intoFile<T>(file: string, work: (output: Output) => Promise<T>): Promise<T> {
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
