import type { Command } from "commander";

import { exitCodes } from "../../lib/errors.ts";
import { applied, publish, findRefusals, type Announced, type RefusedAnnouncement } from "./announcing.ts";
import { countDefinitions } from "../input/checked-definitions.ts";
import { runCommand, type CommandContext } from "../context.ts";
import { openSource, type Source } from "../input/definitions.ts";
import { collectFile } from "../input/files.ts";
import { formatCount } from "../output/format.ts";
import { printError, printLine } from "../output/output.ts";
import { formatRefused } from "../output/refused.ts";

/** Adds `topicsync announce`. */
export function addAnnounceCommand(program: Command): void {
  program
    .command("announce")
    .description(
      "publish definitions to the announcements topic: NDJSON, a JSON array or a JSON object; nothing is sent when one of them is faulty",
    )
    .argument("<file...>", 'files with definitions; "-" is standard input', collectFile)
    .option("-w, --wait", "wait until the running service stored or refused them, and say which")
    .option("--json", "print what came of it as JSON")
    .action(async (files: string[], options: AnnounceOptions) => {
      const sources = await Promise.all(files.map(openSource));
      const count = await countDefinitions(sources, "announced");
      if (count === undefined) process.exitCode = exitCodes.refused;
      else await runCommand((connection) => announce(connection, { sources, count, ...options }));
    });
}

interface AnnounceOptions {
  readonly wait?: true;
  readonly json?: true;
}

interface Work extends AnnounceOptions {
  readonly sources: readonly Source[];
  readonly count: number;
}

async function announce(connection: CommandContext, { sources, count, wait, json }: Work): Promise<void> {
  const { announcementsTopic: topic, deadLetterTopic } = connection.config.kafka;
  const broker = await connection.broker();
  // What is refused from now on lies behind these ends.
  const letters = wait === undefined ? undefined : await broker.bounds(deadLetterTopic);
  const announced: Announced[] = [];
  await publish(connection, {
    sources,
    count,
    sent: wait === undefined ? () => undefined : (one) => void announced.push(one),
  });
  if (wait === undefined) {
    printLine(
      json
        ? JSON.stringify({ announced: count })
        : `announced ${formatCount(count, "definition")} to ${topic}`,
    );
    return;
  }
  if (!(await applied(connection, announced))) {
    printError(`stopped waiting; all ${count} are announced, and the service applies them when it runs`);
    process.exitCode = exitCodes.failure;
    return;
  }
  const from = new Map([...(letters ?? [])].map(([partition, { high }]) => [partition, high]));
  const refused = await findRefusals(connection, announced, from);
  await report({ announced: count, refused, json });
  if (refused.length > 0) process.exitCode = exitCodes.refused;
}

async function report({
  announced,
  refused,
  json,
}: {
  readonly announced: number;
  readonly refused: readonly RefusedAnnouncement[];
  readonly json: true | undefined;
}): Promise<void> {
  const stored = announced - refused.length;
  if (json) {
    printLine(JSON.stringify({ announced, stored, refused }, undefined, 2));
    return;
  }
  printLine(`stored: ${stored} of ${announced}`);
  if (refused.length === 0) return;
  printLine(await formatRefused(refused));
  printLine("`topicsync dead-letters` shows and replays what was refused.");
}
