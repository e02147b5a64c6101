import kafkajs, { type PartitionMetadata } from "kafkajs";

const choose = kafkajs.Partitioners.DefaultPartitioner();

/** The partitions of a Kafka topic as kafkajs wants them, by their number. */
const metadata = new Map<number, PartitionMetadata[]>();

/** The partition of a key, as Kafka's Java clients choose it. */
export function choosePartition(key: Buffer, partitions: number): number {
  const partitionMetadata = metadata.get(partitions) ?? Array.from({ length: partitions }, toMetadata);
  metadata.set(partitions, partitionMetadata);
  return choose({ topic: "", partitionMetadata, message: { key, value: null } });
}

const toMetadata = (_: unknown, partitionId: number): PartitionMetadata => ({
  partitionId,
  partitionErrorCode: 0,
  leader: 0,
  replicas: [],
  isr: [],
});
