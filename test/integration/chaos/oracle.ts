import { createHash } from "node:crypto";

import { applyOneToModel, modelWith, type Model } from "../../unit/topics/model.ts";
import { decodeForModel, type RawRecord } from "./decoder.ts";
import { moveHeader, type HandMade } from "./generator.ts";
import type { LogEntry } from "./log.ts";

/** A refusal that has to be on the dead-letter topic. */
export interface ExpectedLetter {
  readonly code: string;
  readonly digest: string;
  /** What the record was meant to be. */
  readonly move: string;
}

/** What everything has to be in the end, by §4's table alone. */
export interface Oracle {
  /** Takes the next record of the log; those of a partition in offset order. */
  take(entry: LogEntry): void;
  /** The model of each partition. */
  readonly models: readonly Model[];
  /** By `partition-offset`. */
  readonly letters: ReadonlyMap<string, ExpectedLetter>;
  /** How many records came to what. */
  readonly outcomes: ReadonlyMap<string, number>;
}

/** What a dead letter has to keep of a record: key, value and headers. */
export function digestOf({ key, value, headers }: RawRecord): string {
  const hash = createHash("sha1");
  for (const bytes of [key, value])
    hash.update(bytes === null ? "-" : `${bytes.length}:`).update(bytes ?? "");
  const own = Object.entries(headers).filter(([name]) => !/^(__connect\.errors|topicsync)\./.test(name));
  return hash.update(JSON.stringify(own.toSorted())).digest("hex");
}

/**
 * An oracle that begins with the topics created over HTTP. External ids and combinations that meet share a partition, so
 * that each partition is a model of its own, and exact.
 */
export function createOracle(partitions: number, handMade: readonly HandMade[]): Oracle {
  const models = Array.from({ length: partitions }, (_, partition) =>
    modelWith(
      handMade
        .filter((one) => one.partition === partition)
        .map(({ definition }) => ({ ...definition, owner: "http", offset: -1 })),
    ),
  );
  const letters = new Map<string, ExpectedLetter>();
  const outcomes = new Map<string, number>();

  return {
    models,
    letters,
    outcomes,
    take(entry) {
      const model = models[entry.partition];
      if (model === undefined) throw new Error(`there is no partition ${entry.partition}`);
      const outcome = applyOneToModel(model, decodeForModel(entry));
      const name = typeof outcome === "string" ? outcome : `refused, ${outcome.refused}`;
      outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
      if (typeof outcome === "string") return;
      letters.set(`${entry.partition}-${entry.offset}`, {
        code: outcome.refused,
        digest: digestOf(entry),
        move: entry.headers[moveHeader] ?? "",
      });
    },
  };
}
