import { createHash } from "node:crypto";

import { applyOneToModel, createModel, type Model } from "../../unit/topics/model.ts";
import { decodeForModel, type RawRecord } from "./decoder.ts";
import { moveHeader, type HttpTopic } from "./generator.ts";
import type { LogEntry } from "./log.ts";

/** A rejection that must have a dead letter. */
export interface ExpectedLetter {
  readonly code: string;
  readonly digest: string;
  /** The move that the record belongs to. */
  readonly move: string;
}

/** Predicts the final state from the table in section 4 of the contract. */
export interface Oracle {
  /** Applies the next record; those of a partition must come in offset order. */
  take(entry: LogEntry): void;
  /** By partition. */
  readonly models: readonly Model[];
  /** By `partition-offset`. */
  readonly letters: ReadonlyMap<string, ExpectedLetter>;
  /** The number of records by outcome. */
  readonly outcomes: ReadonlyMap<string, number>;
}

/** A digest of what a dead letter must keep: key, value and headers. */
export function digestRecord({ key, value, headers }: RawRecord): string {
  const hash = createHash("sha1");
  for (const bytes of [key, value])
    hash.update(bytes === null ? "-" : `${bytes.length}:`).update(bytes ?? "");
  const own = Object.entries(headers).filter(([name]) => !/^(__connect\.errors|topicsync)\./.test(name));
  return hash.update(JSON.stringify(own.toSorted())).digest("hex");
}

/**
 * Starts from the topics created over HTTP. Conflicting external ids and combinations always share a
 * partition, so one model per partition is exact.
 */
export function createOracle(partitions: number, httpTopics: readonly HttpTopic[]): Oracle {
  const models = Array.from({ length: partitions }, (_, partition) =>
    createModel(
      httpTopics
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
      const name = typeof outcome === "string" ? outcome : `rejected, ${outcome.rejected}`;
      outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
      if (typeof outcome === "string") return;
      letters.set(`${entry.partition}-${entry.offset}`, {
        code: outcome.rejected,
        digest: digestRecord(entry),
        move: entry.headers[moveHeader] ?? "",
      });
    },
  };
}
