import type { Logger } from "@topicsync/lib/logger";
import type { KafkaRequests } from "../requests.ts";
import { PartitionTransactions } from "../transactions.ts";

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
