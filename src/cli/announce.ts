import type { Command } from "commander";

import { exitCodes } from "../errors.ts";
import {
  applied,
  plural,
  publish,
  refusedOf,
  type Announced,
  type RefusedAnnouncement,
} from "./announcing.ts";
import { connected, type Connected } from "./connected.ts";
import { allDefinitions, sourceOf, type InputFault, type Source } from "./definitions.ts";
import { eachOnce } from "./inputs.ts";
import { complain, say, visible } from "./output.ts";

const mostFaultsShown = 20;

/** Adds `topicsync announce`. */
export function addAnnounceCommand(program: Command): void {
  program
    .command("announce")
    .description(
      "publish definitions to the announcements topic: NDJSON, a JSON array or a JSON object; nothing is sent when one of them is faulty",
    )
    .argument("<file...>", 'files with definitions; "-" is standard input', eachOnce)
    .option("-w, --wait", "wait until the running service stored or refused them, and say which")
    .option("--json", "print what came of it as JSON")
    .action(async (files: string[], options: AnnounceOptions) => {
      const sources = await Promise.all(files.map(sourceOf));
      const count = await check(sources);
      if (count === undefined) process.exitCode = exitCodes.refused;
      else await connected((connection) => announce(connection, { sources, count, ...options }));
    });
}

interface AnnounceOptions {
  readonly wait?: true;
  readonly json?: true;
}

/** Counts the definitions; undefined when there are faults, which are told. */
async function check(sources: readonly Source[]): Promise<number | undefined> {
  const faults: InputFault[] = [];
  let count = 0;
  let more = 0;
  for await (const one of allDefinitions(sources)) {
    if ("body" in one) count += 1;
    else if (faults.length < mostFaultsShown) faults.push(one);
    else more += 1;
  }
  if (faults.length === 0) return count;
  for (const { place, fault } of faults) complain(visible(`${place}: ${fault}`));
  if (more > 0) complain(`and ${more} more`);
  complain("Nothing was announced.");
  return undefined;
}

interface Work extends AnnounceOptions {
  readonly sources: readonly Source[];
  readonly count: number;
}

async function announce(connection: Connected, { sources, count, wait, json }: Work): Promise<void> {
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
    say(json ? JSON.stringify({ announced: count }) : `announced ${plural(count)} to ${topic}`);
    return;
  }
  if (!(await applied(connection, announced))) {
    complain(`stopped waiting; all ${count} are announced, and the service applies them when it runs`);
    process.exitCode = exitCodes.failure;
    return;
  }
  const from = new Map([...(letters ?? [])].map(([partition, { high }]) => [partition, high]));
  const refused = await refusedOf(connection, announced, from);
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
    say(JSON.stringify({ announced, stored, refused }, undefined, 2));
    return;
  }
  say(`stored: ${stored} of ${announced}`);
  if (refused.length === 0) return;
  const { default: Table } = await import("cli-table3");
  const table = new Table({
    head: ["refused", "external id", "code", "why"],
    colWidths: [null, null, null, 60],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  table.push(
    ...refused.map(({ place, externalId, code, message }) =>
      [place, externalId, code, message].map((text) => visible(text)),
    ),
  );
  say(table.toString());
  say("`topicsync dead-letters` shows and replays what was refused.");
}
