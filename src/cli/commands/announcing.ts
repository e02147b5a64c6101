import { parseDeadLetter } from "../../dead-letters/dead-letter.ts";
import { type OutgoingRecord, type PartitionOffset, formatRecordPosition } from "../../sync/records.ts";
import { createTopicStore } from "../../storage/topics.ts";
import { waitUntilApplied } from "../../sync/applied.ts";
import type { CommandContext } from "../context.ts";
import { allDefinitions, type PlacedDefinition, type Source } from "../input/definitions.ts";
import { formatCount } from "../output/format.ts";
import { printError } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import type { RefusedDefinition } from "../output/refused.ts";

/** A definition that was announced, and where its record lies. */
export interface Announced extends PartitionOffset {
  readonly place: string;
  readonly externalId: string;
}

/** An announcement that the sync refused. */
export interface RefusedAnnouncement extends RefusedDefinition {
  /** The id of its dead letter. */
  readonly id: string;
}

const recordsARequest = 500;
const hintAfterMs = 10_000;

export interface Publishing {
  readonly sources: readonly Source[];
  readonly count: number;
  /** Told of each definition once the broker has it. */
  readonly sent: (one: Announced) => void;
}

/** Sends everything in the order of the files. */
export async function publish(
  connection: CommandContext,
  { sources, count, sent }: Publishing,
): Promise<void> {
  const broker = await connection.broker();
  const producer = broker.producer(connection.config.kafka.announcementsTopic);
  const progress = createProgress("announcing", count, process.stderr);
  let done = 0;
  let waiting: PlacedDefinition[] = [];

  async function flush(): Promise<void> {
    const results = await producer.send(waiting.map(({ body }) => toRecord(body)));
    for (const [index, { place, body }] of waiting.entries()) {
      const result = results[index];
      if (result === undefined) continue;
      if ("rejection" in result) throw new Error(`${place}: Kafka rejects it: ${result.rejection.message}`);
      sent({ ...result, place, externalId: body.externalId });
    }
    done += waiting.length;
    waiting = [];
    progress.at(done);
  }

  try {
    for await (const one of allDefinitions(sources)) {
      if (connection.abort.aborted) throw new Error(`stopped after ${done} of ${count}`);
      if (!("body" in one)) throw new Error(`${one.place} changed while it was read: it ${one.fault}`);
      waiting.push(one);
      if (waiting.length >= recordsARequest) await flush();
    }
    await flush();
  } finally {
    await producer.close();
  }
  progress.end(`announced ${formatCount(done, "definition")}`);
}

const toRecord = (body: PlacedDefinition["body"]): OutgoingRecord => ({
  key: Buffer.from(body.externalId),
  value: Buffer.from(JSON.stringify(body)),
  headers: {},
  timestamp: undefined,
});

/** False when it was given up. */
export async function applied(connection: CommandContext, announced: readonly Announced[]): Promise<boolean> {
  const { groupId, announcementsTopic } = connection.config.kafka;
  const store = createTopicStore(await connection.database(), connection.log);
  const progress = createProgress("applied by the service", announced.length, process.stderr);
  let before = 0;
  let movedAt = Date.now();
  const isDone = await waitUntilApplied(announced, {
    positions: () => store.positions(groupId, announcementsTopic),
    abort: connection.abort,
    at(done) {
      progress.at(done);
      if (done > before) movedAt = Date.now();
      before = done;
      if (Date.now() - movedAt < hintAfterMs) return;
      movedAt = Infinity;
      printError(
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
export async function findRefusals(
  { broker, config, abort }: CommandContext,
  announced: readonly Announced[],
  from: ReadonlyMap<number, number>,
): Promise<RefusedAnnouncement[]> {
  const { announcementsTopic, deadLetterTopic } = config.kafka;
  // The letters are newer than the announcements, so that of the same offset is of the same epoch.
  const byPlace = new Map(
    announced.map((one) => [formatRecordPosition({ topic: announcementsTopic, ...one }), one]),
  );
  const refused = new Map<string, RefusedAnnouncement>();
  for await (const placed of (await broker()).read(deadLetterTopic, { from, abort })) {
    const { id, source, code, message } = parseDeadLetter(deadLetterTopic, placed, () => undefined);
    const one = source && byPlace.get(formatRecordPosition({ ...source, epoch: 1 }));
    if (one === undefined) continue;
    const { place, externalId } = one;
    refused.set(id, { place, externalId, id, code, message });
  }
  return [...refused.values()];
}
