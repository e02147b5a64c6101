/** Programs outside of the product that produce, one for each log. */
import type { Random } from "../random.ts";
import { createBatch, type BatchRecord } from "../wire/batches.ts";
import type { PartitionLog, ProducerIdentity } from "./log.ts";
import type { Partition } from "./topics.ts";

export type NewRecord = Omit<BatchRecord, "offsetDelta">;

interface ForeignTransaction extends ProducerIdentity {
  nextSequence: number;
  isOpen: boolean;
}

const firstProducer = 1_000_000;

export class ForeignProducers {
  readonly #transactions = new Map<PartitionLog, ForeignTransaction>();
  #nextProducer = firstProducer;

  produce(
    partition: Partition,
    records: readonly NewRecord[],
    { random, isTransactional }: { readonly random: Random; readonly isTransactional: boolean },
  ): void {
    for (const batch of splitIntoBatches(records, random))
      this.#produceBatch(partition, batch, isTransactional);
  }

  /** Ends the transaction in a partition, if there is one. */
  end({ log, leaderEpoch }: Partition, commit: boolean, timestamp: number): void {
    const producer = this.#transactions.get(log);
    if (producer?.isOpen !== true) return;
    producer.isOpen = false;
    log.mark(producer, { commit, timestamp, leaderEpoch });
  }

  /** A log has lost its end. */
  handleCut(log: PartitionLog): void {
    const producer = this.#transactions.get(log);
    if (producer === undefined) return;
    producer.isOpen = log.hasOpenTransaction;
    producer.nextSequence = log.getNextSequence(producer.producerId);
  }

  #produceBatch(
    { log, leaderEpoch }: Partition,
    records: readonly NewRecord[],
    isTransactional: boolean,
  ): void {
    const numbered = records.map((record, offsetDelta) => ({ ...record, offsetDelta }));
    if (!isTransactional) {
      log.append(createBatch(numbered), leaderEpoch);
      return;
    }
    let producer = this.#transactions.get(log);
    producer ??= { producerId: this.#nextProducer++, producerEpoch: 0, nextSequence: 0, isOpen: true };
    producer.isOpen = true;
    this.#transactions.set(log, producer);
    const { producerId, producerEpoch, nextSequence: firstSequence } = producer;
    log.append(
      createBatch(numbered, { producerId, producerEpoch, firstSequence, isTransactional }),
      leaderEpoch,
    );
    producer.nextSequence += records.length;
  }
}

/** Producers send what they have at the moment. */
function* splitIntoBatches(records: readonly NewRecord[], random: Random): Generator<readonly NewRecord[]> {
  for (let at = 0; at < records.length;) {
    const count = random.between(1, records.length - at + 1);
    yield records.slice(at, at + count);
    at += count;
  }
}
