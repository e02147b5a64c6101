import { open, rename, rm } from "node:fs/promises";

import { getErrorMessage } from "@topicsync/lib/errors";
import { toDefinition, type TopicDefinition } from "../../../topics/topic.ts";
import { runWithClient } from "../../client/client.ts";
import type { OperationClient } from "../../client/operation-client.ts";
import { readTopics, type TopicChoice } from "../../client/topics.ts";
import type { JsonFlag } from "../../input/options.ts";
import type { ServerFlag } from "../../input/server.ts";
import { formatCount } from "../../output/format.ts";
import { printError, openOutput, printLine, type Output } from "../../output/output.ts";

export interface ExportFlags extends TopicChoice, JsonFlag, ServerFlag {
  readonly format?: "ndjson" | "yaml";
  readonly out?: string;
}

/** Lines written together, for speed. */
const linesPerWrite = 500;

/** Writes definitions as NDJSON to a file or to standard output. */
export const exportTopics = (flags: ExportFlags): Promise<void> =>
  runWithClient(flags, async (client) => {
    const { out, json } = flags;
    if (out === undefined) {
      const count = await writeDefinitions(openOutput(), client, flags);
      printError(`exported ${formatCount(count, "topic")}`);
      return;
    }
    const count = await replaceFile(out, (output) => writeDefinitions(output, client, flags));
    if (json) printLine(JSON.stringify({ exported: count, file: out }));
    else printLine(`exported ${formatCount(count, "topic")} to ${out}`);
  });

/** Returns how many were written. */
async function writeDefinitions(
  output: Output,
  client: OperationClient,
  flags: ExportFlags,
): Promise<number> {
  let lines: string[] = [];
  let done = 0;
  for await (const topic of readTopics(client, flags, { ...(flags.out && { showsCount: true }) })) {
    lines.push(`${formatDefinition(topic)}\n`);
    done += 1;
    if (lines.length < linesPerWrite) continue;
    if (!(await output.write(lines.join("")))) return done;
    lines = [];
  }
  if (lines.length > 0) await output.write(lines.join(""));
  return done;
}

/** A definition as `topics import` and `announce` read it. */
const formatDefinition = (topic: TopicDefinition): string => JSON.stringify(toDefinition(topic));

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
