import type { Logger } from "../../../src/lib/logger.ts";
import type { KafkaRequests } from "../../../src/kafka/requests.ts";
import { PartitionTransactions } from "../../../src/kafka/transactions.ts";

/** The transactions of a partition without a broker, in which no end is missing. */
export const createOfflineTransactions = (
  producer: object,
  {
    fetchStableOffset,
    debug = () => undefined,
  }: Pick<KafkaRequests, "fetchStableOffset"> & {
    readonly debug?: (details: { readonly reason: unknown }) => void;
  },
): PartitionTransactions =>
  new PartitionTransactions({
    partition: { topic: "events", partition: 0 },
    groupId: "group",
    createClient: () => ({
      kafka: { producer: () => producer } as never,
      dropConnection: () => undefined,
      close: () => undefined,
    }),
    requests: { restoreEnd: () => Promise.resolve({ end: undefined, denied: [] }), fetchStableOffset },
    isOutput: undefined,
    log: { debug } as Partial<Logger> as Logger,
  });
