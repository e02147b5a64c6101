/** The responses of brokers that do not coordinate, or not yet: they say nothing but an error. */
import type { Request, Response } from "../wire/messages.ts";
import { failJoin, failSync } from "./members.ts";
import { mapPartitions } from "./requests.ts";

export type GroupRequest =
  | "joinGroup5"
  | "syncGroup3"
  | "heartbeat3"
  | "leaveGroup3"
  | "offsetCommit5"
  | "offsetFetch4"
  | "offsetFetch7"
  | "describeGroups2"
  | "deleteGroups1"
  | "txnOffsetCommit1";
export type TransactionRequest =
  "initProducerId1" | "addPartitionsToTxn1" | "addOffsetsToTxn1" | "endTxn1" | "describeTransactions0";

const throttle = 0;

/** How DescribeTransactions says that it tells nothing of a transactional id. */
export const describeFailure = (transactionalId: string, error: number) => ({
  error,
  transactionalId,
  ...{ state: "", timeout: 0, startTime: -1, producerId: -1, producerEpoch: -1, topics: [] },
});

/** A response that says nothing but an error. */
export const refusals: {
  readonly [Name in GroupRequest | TransactionRequest]: (
    error: number,
    body: Request<Name>,
  ) => Response<Name>;
} = {
  joinGroup5: (error, { memberId }) => failJoin(error, memberId),
  syncGroup3: failSync,
  heartbeat3: (error) => ({ throttle, error }),
  leaveGroup3: (error) => ({ throttle, error, members: [] }),
  offsetCommit5: (error, { topics }) => ({
    throttle,
    topics: mapPartitions(topics, (_, { partition }) => ({ partition, error })),
  }),
  offsetFetch4: (error) => ({ throttle, topics: [], error }),
  offsetFetch7: (error) => ({ throttle, topics: [], error }),
  describeGroups2: (error, { groups }) => ({
    throttle,
    groups: groups.map((groupId) => ({
      error,
      groupId,
      state: "",
      protocolType: "",
      protocol: "",
      members: [],
    })),
  }),
  deleteGroups1: (error, { groups }) => ({
    throttle,
    results: groups.map((groupId) => ({ groupId, error })),
  }),
  txnOffsetCommit1: (error, { topics }) => ({
    throttle,
    topics: mapPartitions(topics, (_, { partition }) => ({ partition, error })),
  }),
  initProducerId1: (error) => ({ throttle, error, producerId: -1, producerEpoch: -1 }),
  addPartitionsToTxn1: (error, { topics }) => ({
    throttle,
    topics: mapPartitions(topics, (_, partition) => ({ partition, error })),
  }),
  addOffsetsToTxn1: (error) => ({ throttle, error }),
  endTxn1: (error) => ({ throttle, error }),
  describeTransactions0: (error, { transactionalIds }) => ({
    throttle,
    transactions: transactionalIds.map((id) => describeFailure(id, error)),
  }),
};
