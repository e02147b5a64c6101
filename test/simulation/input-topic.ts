import {
  startOfTime,
  type Clock,
  type Cluster,
  type NewRecord,
  type Partition,
  type PartitionLog,
} from "../simulated-servers/index.ts";
import type { InputAction, SentIn } from "./cluster-steps.ts";

export interface InputTopicOptions {
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly name: string;
  readonly hasTopicIds: boolean;
  /** Producers set timestamps as they like. */
  readonly hasOddTimestamps: boolean;
}

/** A topic that the product reads. */
export class InputTopic {
  readonly #options: InputTopicOptions;
  /** Of what was sent. */
  protected lastTimestamp = startOfTime;

  constructor(options: InputTopicOptions) {
    this.#options = options;
  }

  list(): readonly Partition[] {
    return this.#options.cluster.topics.get(this.#options.name)?.partitions ?? [];
  }

  /** A partition that a step means; undefined while the topic is deleted. */
  find(partition: number): Partition | undefined {
    const partitions = this.list();
    return partitions[partition % Math.max(1, partitions.length)];
  }

  /** Ends what producers have open. */
  endTransactions(): void {
    for (const partition of this.list()) this.#endTransaction(partition, true);
  }

  protected produce<Sent extends { readonly skewMs: number }>(
    partition: Partition,
    sent: readonly Sent[],
    { toRecord, sentIn }: { toRecord: (one: Sent, timestamp: number) => NewRecord; sentIn: SentIn },
  ): void {
    const records = sent.map((one) => toRecord(one, this.#getTimestamp(one.skewMs)));
    this.#options.cluster.produce(partition, records, sentIn === "none" ? undefined : sentIn);
  }

  protected change(partition: Partition, action: InputAction): void {
    switch (action.do) {
      case "end transaction":
        this.#endTransaction(partition, action.commit);
        break;
      case "truncate":
        partition.log.truncate(findOffset(partition.log, action.share));
        break;
      case "old bounds":
        if (this.#options.hasTopicIds) this.#options.cluster.showOldBounds();
        break;
    }
  }

  /** Timestamps grow, unless they are odd. */
  #getTimestamp(skewMs: number): number {
    const now = startOfTime + Math.floor(this.#options.clock.getTime());
    this.lastTimestamp = Math.max(this.lastTimestamp + 1, now);
    return this.#options.hasOddTimestamps ? this.lastTimestamp + skewMs : this.lastTimestamp;
  }

  #endTransaction(partition: Partition, commit: boolean): void {
    this.#options.cluster.endTransaction(partition, commit, (this.lastTimestamp += 1));
  }
}

export const findOffset = ({ low, end }: PartitionLog, share: number): number =>
  Math.floor(low + (end - low) * share);
