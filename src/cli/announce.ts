import { InvalidArgumentError, type Command } from "commander";

import { exitCodes } from "../errors.ts";
import type { PlacedOffset } from "../records.ts";
import { createTopicStore } from "../storage/topics.ts";
import { untilApplied } from "../sync/applied.ts";
import { connected, type Connected } from "./connected.ts";
import {
  definitionsIn,
  sourceOf,
  type InputFault,
  type PlacedDefinition,
  type Source,
} from "./definitions.ts";
import { createProgress } from "./progress.ts";

/** A definition that was announced, and where its record lies. */
interface Announced extends PlacedOffset {
  readonly place: string;
  readonly externalId: string;
}

/** An announcement that the sync refused. */
interface RefusedAnnouncement {
  readonly place: string;
  readonly externalId: string;
  /** `topic-partition-offset`, the id of its dead letter. */
  readonly id: string;
  readonly code: string;
  readonly message: string;
}

const recordsARequest = 500;
const mostFaultsShown = 20;
const hintAfterMs = 10_000;

/** Adds `topicsync announce`. */
export function addAnnounceCommand(program: Command): void {
  program
    .command("announce")
    .description(
      "publish definitions to the announcements topic: NDJSON, a JSON array or a JSON object; nothing is sent when one of them is faulty",
    )
    .argument("<file...>", 'files with definitions; "-" is standard input', once)
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

function once(file: string, before: string[] | undefined): string[] {
  if (file === "-" && before?.includes("-") === true)
    throw new InvalidArgumentError("Standard input can be read only once.");
  return [...(before ?? []), file];
}

/** Counts the definitions; undefined when there are faults, which are told. */
async function check(sources: readonly Source[]): Promise<number | undefined> {
  const faults: InputFault[] = [];
  let count = 0;
  let more = 0;
  for await (const one of all(sources)) {
    if ("body" in one) count += 1;
    else if (faults.length < mostFaultsShown) faults.push(one);
    else more += 1;
  }
  if (faults.length === 0) return count;
  for (const { place, fault } of faults) complain(`${place}: ${fault}`);
  if (more > 0) complain(`and ${more} more`);
  complain("Nothing was announced.");
  return undefined;
}

async function* all(sources: readonly Source[]): AsyncGenerator<PlacedDefinition | InputFault> {
  for (const source of sources) yield* definitionsIn(source);
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

/** Sends everything in the order of the files. */
async function publish(
  connection: Connected,
  { sources, count, sent }: Pick<Work, "sources" | "count"> & { readonly sent: (one: Announced) => void },
): Promise<void> {
  const broker = await connection.broker();
  const publisher = await broker.publisher(connection.config.kafka.announcementsTopic);
  const progress = createProgress("announcing", count, process.stderr);
  let done = 0;
  let waiting: PlacedDefinition[] = [];

  async function flush(): Promise<void> {
    const records = waiting.map(({ body }) => ({ key: body.externalId, value: JSON.stringify(body) }));
    const placed = records.length === 0 ? [] : await publisher.send(records);
    for (const [index, { place, body }] of waiting.entries()) {
      const at = placed[index];
      if (at !== undefined) sent({ ...at, place, externalId: body.externalId });
    }
    done += waiting.length;
    waiting = [];
    progress.at(done);
  }

  try {
    for await (const one of all(sources)) {
      if (connection.abort.aborted) throw new Error(`stopped after ${done} of ${count}`);
      if (!("body" in one)) throw new Error(`${one.place} changed while it was read: it ${one.fault}`);
      waiting.push(one);
      if (waiting.length >= recordsARequest) await flush();
    }
    await flush();
  } finally {
    await publisher.close();
  }
  progress.end(`announced ${plural(done)}`);
}

/** False when it was given up. */
async function applied(connection: Connected, announced: readonly Announced[]): Promise<boolean> {
  const { groupId, announcementsTopic } = connection.config.kafka;
  const store = createTopicStore(await connection.database(), connection.log);
  const progress = createProgress("applied by the service", announced.length, process.stderr);
  let before = 0;
  let movedAt = Date.now();
  const isDone = await untilApplied(announced, {
    positions: () => store.positions(groupId, announcementsTopic),
    abort: connection.abort,
    at(done) {
      progress.at(done);
      if (done > before) movedAt = Date.now();
      before = done;
      if (Date.now() - movedAt < hintAfterMs) return;
      movedAt = Infinity;
      complain(
        "nothing was applied for 10 s: does the service run? `topicsync status` tells where it stands",
      );
    },
    away: (error) => {
      connection.log.warn({ reason: error.message }, "waiting for MongoDB");
    },
  });
  progress.end(isDone ? "all are applied" : "given up");
  return isDone;
}

/** Those of the announced whose dead letters lie behind `from`. */
async function refusedOf(
  { broker, config, abort }: Connected,
  announced: readonly Announced[],
  from: ReadonlyMap<number, number>,
): Promise<RefusedAnnouncement[]> {
  const { announcementsTopic, deadLetterTopic } = config.kafka;
  const byId = new Map(announced.map((one) => [`${announcementsTopic}-${one.partition}-${one.offset}`, one]));
  const refused = new Map<string, RefusedAnnouncement>();
  for await (const { record } of (await broker()).read(deadLetterTopic, { from, abort })) {
    const header = (name: string): string => String(record.headers[name] ?? "");
    const id = header("topicsync.id");
    const one = byId.get(id);
    if (one === undefined) continue;
    const { place, externalId } = one;
    const message = header("__connect.errors.exception.message");
    refused.set(id, { place, externalId, id, code: header("topicsync.code"), message });
  }
  return [...refused.values()];
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
  table.push(...refused.map(({ place, externalId, code, message }) => [place, externalId, code, message]));
  say(table.toString());
  say("`topicsync dead-letters` shows and replays what was refused.");
}

const plural = (count: number): string => `${count} definition${count === 1 ? "" : "s"}`;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const complain = (text: string): void => void process.stderr.write(`${text}\n`);
