/** What a coordinator knows of a transactional id. */
import type { Host } from "../clock.ts";
import type { Random } from "../random.ts";
import type { Partition } from "./topics.ts";

export interface PartitionName {
  readonly topic: string;
  readonly partition: number;
}

export interface TransactionalProducer {
  readonly transactionalId: string;
  readonly producerId: number;
  epoch: number;
  state: "empty" | "ongoing" | "completing" | "complete";
  isCommitted: boolean;
  timeoutMs: number;
  process: Host;
  beganAt: number;
  movedAt: number;
  /** Numbers the transactions. */
  begun: number;
  /** The partitions that were announced, by `topic-partition`. */
  readonly announced: Map<string, PartitionName>;
  /**
   * Where its records begin in each log. One of a deleted topic may have an earlier transaction, too, which
   * gets no marker.
   */
  readonly written: Map<Partition, number>;
  readonly groups: Set<string>;
  /** How the last transaction ended whose markers were lost, until there are others. */
  lostEnd: boolean | undefined;
  /** How often it was initialised since. */
  initialisations: number;
}

export const createProducer = (
  transactionalId: string,
  { producerId, timeoutMs, process }: Pick<TransactionalProducer, "producerId" | "timeoutMs" | "process">,
): TransactionalProducer => ({
  ...{ transactionalId, producerId, timeoutMs, process },
  ...{ epoch: -1, state: "empty", isCommitted: false, beganAt: 0, movedAt: 0, begun: 0 },
  announced: new Map(),
  written: new Map(),
  groups: new Set(),
  lostEnd: undefined,
  initialisations: 0,
});

/** Kafka aborts what it ends itself. Where that was to restore an end, nobody knows the end any more. */
export const toForcedEnd = ({ lostEnd = false }: TransactionalProducer): boolean => lostEnd;

/** As Kafka names the state. */
export function toStateName({ state, isCommitted }: TransactionalProducer): string {
  switch (state) {
    case "empty":
      return "Empty";
    case "ongoing":
      return "Ongoing";
    case "completing":
      return isCommitted ? "PrepareCommit" : "PrepareAbort";
    case "complete":
      return isCommitted ? "CompleteCommit" : "CompleteAbort";
  }
}

/** Leaves out some of the markers of a transaction. Those of offsets are the last ones. */
export const keepSome = <Mark>(
  marks: readonly Mark[],
  {
    offsets,
    keepsOffsets,
    random,
  }: { readonly offsets: number; readonly keepsOffsets: boolean; readonly random: Random },
): readonly Mark[] =>
  keepsOffsets ? marks.slice(-offsets) : marks.slice(0, -offsets).filter(() => random.chance(0.5));
