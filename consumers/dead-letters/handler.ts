import type { Logger } from "@topicsync/lib/logger";
import type { PositionKey, LogRecord, Partition } from "@topicsync/kafka";
import type { FindNamespace, IdentifyTopic } from "../../src/dead-letters/dead-letter.ts";
import type { DeadLetterStore } from "../../src/dead-letters/stores.ts";
import { summarize, type DeadLetterSummary } from "../../src/dead-letters/summary.ts";
import { noTrace } from "../batch-trace.ts";
import { storeBatch, type BatchHandler } from "../batch.ts";

export interface DeadLetterOptions {
  readonly groupId: string;
  readonly store: Pick<
    DeadLetterStore,
    "claim" | "findPosition" | "begin" | "findLastRank" | "removeReplaced"
  >;
  readonly identify: IdentifyTopic;
  /** Reads the key of the proofs. Throws UnavailableError. */
  readonly getProofKey: () => Promise<Buffer>;
  readonly findNamespace: FindNamespace;
  readonly log: Logger;
}

interface DeadLetterBatch {
  readonly records: readonly LogRecord[];
  readonly summaries: readonly DeadLetterSummary[];
}

/** Summarizes the dead letters of one partition of a dead-letter topic and stores them with the position. */
export function createDeadLetterHandler(
  partition: Partition,
  { groupId, store, identify, getProofKey, findNamespace, log }: DeadLetterOptions,
): BatchHandler<DeadLetterBatch> {
  const key: PositionKey = { group: groupId, ...partition };
  /** The rank of the last record that was prepared. */
  let rank = 0;
  /** Known once the partition is claimed. Another database, with another key, needs another claim. */
  let proofKey: Buffer = Buffer.alloc(0);

  return {
    async claim() {
      const claimed = await store.claim(key);
      rank = await store.findLastRank(key);
      proofKey = await getProofKey();
      return claimed;
    },
    findPosition: () => store.findPosition(key),
    prepare(records) {
      const summaries = records.map((record) => {
        const placed = { partition: partition.partition, record };
        const summary = summarize(partition.topic, placed, { identify, proofKey, findNamespace, rank });
        ({ rank } = summary);
        return summary;
      });
      return { records, summaries };
    },
    async write({ summaries }, { from, to }) {
      const step = { key, from, to };
      await store.removeReplaced(step);
      const writes = { key, summaries, epoch: to.epoch };
      await storeBatch(store, step, { writes, sendDeadLetters: undefined, trace: noTrace });
    },
    report({ summaries }) {
      log.debug({ partition: partition.partition, count: summaries.length }, "dead letters stored");
    },
  };
}
