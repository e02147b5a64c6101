/** What the coordinators of groups and of transactions answer, and brokers that are not coordinators. */
import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import type { Request, Response } from "../wire/messages.ts";
import { codes } from "./errors.ts";
import { failJoin, failSync, Group } from "./groups.ts";
import { GroupOffsets, noOffset, type CommittedOffset } from "./offsets.ts";
import { mapPartitions, toKey, type Handler, type Handlers } from "./requests.ts";
import type { BrokerNode } from "./topics.ts";
import type { TransactionCoordinator } from "./transactions.ts";

export type CoordinatorKind = "group" | "transaction";

export interface CoordinationOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly getNode: (nodeId: number) => BrokerNode;
  readonly getHost: (kind: CoordinatorKind) => Host;
  /** -1 while there is none. */
  readonly getCoordinator: (kind: CoordinatorKind) => number;
  readonly isAvailable: (kind: CoordinatorKind) => boolean;
  readonly trace: (getText: () => string) => void;
}

/** The groups of a cluster. */
export function createGroups({ clock, random, getHost, trace }: CoordinationOptions) {
  const groups = new Map<string, Group>();
  const offsets = new Map<string, GroupOffsets>();

  return {
    get(id: string): Group {
      let group = groups.get(id);
      group ??= new Group({
        clock,
        id,
        trace,
        getHost: () => getHost("group"),
        createMemberId: (clientId) => `${clientId}-${random.between(0, 2 ** 32).toString(16)}`,
      });
      groups.set(id, group);
      return group;
    },
    getOffsets(id: string): GroupOffsets {
      const known = offsets.get(id) ?? new GroupOffsets();
      offsets.set(id, known);
      return known;
    },
    listAll: () => [...groups.values()],
    delete(id: string): void {
      groups.delete(id);
      offsets.delete(id);
    },
    /** As Kafka does when a topic is deleted. */
    deleteOffsetsOf(topic: string): void {
      for (const ofGroup of offsets.values())
        for (const key of ofGroup.list().keys()) if (key.startsWith(`${topic}-`)) ofGroup.delete(key);
    },
  };
}

export type Groups = ReturnType<typeof createGroups>;

type GroupRequest =
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
type TransactionRequest = "initProducerId1" | "addPartitionsToTxn1" | "addOffsetsToTxn1" | "endTxn1";

const throttle = 0;

/** A response that says nothing but an error. */
const refusals: {
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
};

export function createCoordinationHandlers(
  options: CoordinationOptions,
  { groups, transactions }: { readonly groups: Groups; readonly transactions: TransactionCoordinator },
  denied: ReadonlySet<string>,
): Handlers<GroupRequest | TransactionRequest | "findCoordinator2"> {
  const { random, getNode, getCoordinator, isAvailable } = options;

  /** What keeps a broker from answering as a coordinator: an error code. */
  function findObstacle(kind: CoordinatorKind, brokerId: number): number {
    if (getCoordinator(kind) !== brokerId) return codes.notCoordinator;
    if (isAvailable(kind)) return codes.none;
    return random.pick([codes.coordinatorLoading, codes.coordinatorNotAvailable, codes.notCoordinator]);
  }

  /** Refuses a request where it does not reach the coordinator. */
  const guard =
    <Name extends GroupRequest | TransactionRequest>(
      kind: CoordinatorKind,
      name: Name,
      handle: Handler<Name>,
    ): Handler<Name> =>
    (body, respond, context) => {
      const error = findObstacle(kind, context.brokerId);
      const refuse = refusals[name] as (error: number, body: Request<Name>) => Response<Name>;
      if (error === codes.none) handle(body, respond, context);
      else respond(refuse(error, body));
    };

  const groupHandlers = createGroupHandlers(groups, { transactions, denied });
  const transactionHandlers = createTransactionHandlers(transactions, { getNode, denied });
  const guardAll = <Name extends GroupRequest | TransactionRequest>(
    kind: CoordinatorKind,
    handlers: Handlers<Name>,
  ): Handlers<Name> =>
    Object.fromEntries(
      (Object.keys(handlers) as Name[]).map((name) => [name, guard(kind, name, handlers[name])]),
    ) as unknown as Handlers<Name>;

  return {
    ...guardAll("group", groupHandlers),
    ...guardAll("transaction", transactionHandlers),
    findCoordinator2({ key, type }, respond) {
      const kind: CoordinatorKind = type === 0 ? "group" : "transaction";
      const nodeId = getCoordinator(kind);
      const base = { throttle, errorMessage: null, nodeId: -1, host: "", port: -1 };
      if (kind === "group" && denied.has(key)) respond({ ...base, error: codes.groupDenied });
      else if (nodeId < 0 || !isAvailable(kind)) respond({ ...base, error: codes.coordinatorNotAvailable });
      else
        respond({
          ...base,
          error: codes.none,
          nodeId,
          host: getNode(nodeId).name,
          port: getNode(nodeId).port,
        });
    },
  };
}

const toOffsets = (topics: Request<"txnOffsetCommit1">["topics"]): ReadonlyMap<string, CommittedOffset> =>
  new Map(
    topics.flatMap(({ topic, partitions }) =>
      partitions.map(
        ({ partition, offset, metadata }) =>
          [toKey(topic, partition), { offset, metadata: metadata ?? "" }] as const,
      ),
    ),
  );

function createGroupHandlers(
  groups: Groups,
  { transactions, denied }: { transactions: TransactionCoordinator; denied: ReadonlySet<string> },
): Handlers<GroupRequest> {
  function readOffset(groupId: string, topic: string, partition: number, requireStable = false) {
    const key = toKey(topic, partition);
    const offsets = groups.getOffsets(groupId);
    const isUnstable = requireStable && offsets.isPending(key);
    return {
      partition,
      leaderEpoch: -1,
      ...(isUnstable ? noOffset : (offsets.get(key) ?? noOffset)),
      error: isUnstable ? codes.unstableOffsetCommit : codes.none,
    };
  }

  return {
    joinGroup5(body, respond, { clientId }) {
      if (denied.has(body.groupId)) respond(failJoin(codes.groupDenied, body.memberId));
      else groups.get(body.groupId).join(body, clientId, respond);
    },
    syncGroup3(body, respond) {
      groups.get(body.groupId).sync(body, respond);
    },
    heartbeat3(body, respond) {
      const error = denied.has(body.groupId) ? codes.groupDenied : groups.get(body.groupId).heartbeat(body);
      respond({ throttle, error });
    },
    leaveGroup3({ groupId, members }, respond) {
      const left = members.map(({ memberId, groupInstanceId }) => ({
        memberId,
        groupInstanceId,
        error: groups.get(groupId).leave(memberId),
      }));
      respond({ throttle, error: codes.none, members: left });
    },
    offsetCommit5({ topics, ...body }, respond) {
      const error = groups.get(body.groupId).checkCommit(body);
      const offsets = groups.getOffsets(body.groupId);
      respond({
        throttle,
        topics: mapPartitions(topics, (topic, { partition, offset, metadata }) => {
          if (error === codes.none)
            offsets.set(toKey(topic, partition), { offset, metadata: metadata ?? "" });
          return { partition, error };
        }),
      });
    },
    offsetFetch4({ groupId, topics }, respond) {
      const found = mapPartitions(topics ?? [], (topic, partition) => readOffset(groupId, topic, partition));
      respond({ throttle, topics: found, error: codes.none });
    },
    offsetFetch7({ groupId, topics, requireStable }, respond) {
      const found = mapPartitions(topics ?? [], (topic, partition) =>
        readOffset(groupId, topic, partition, requireStable),
      );
      respond({ throttle, topics: found, error: codes.none });
    },
    describeGroups2({ groups: ids }, respond) {
      const described = ids.map((groupId) => ({
        error: codes.none,
        groupId,
        protocolType: "consumer",
        ...groups.get(groupId).describe(),
      }));
      respond({ throttle, groups: described });
    },
    deleteGroups1({ groups: ids }, respond) {
      const results = ids.map((groupId) => {
        const { isEmpty } = groups.get(groupId);
        if (isEmpty) groups.delete(groupId);
        return { groupId, error: isEmpty ? codes.none : codes.nonEmptyGroup };
      });
      respond({ throttle, results });
    },
    txnOffsetCommit1({ topics, groupId, ...identity }, respond) {
      const error = denied.has(groupId)
        ? codes.groupDenied
        : transactions.commitOffsets(identity, groupId, toOffsets(topics));
      respond({ throttle, topics: mapPartitions(topics, (_, { partition }) => ({ partition, error })) });
    },
  };
}

function createTransactionHandlers(
  transactions: TransactionCoordinator,
  { getNode, denied }: { getNode: (nodeId: number) => BrokerNode; denied: ReadonlySet<string> },
): Handlers<TransactionRequest> {
  return {
    initProducerId1({ transactionalId, transactionTimeout }, respond, { client }) {
      respond({ throttle, ...transactions.initialise(transactionalId ?? "", transactionTimeout, client) });
    },
    addPartitionsToTxn1({ topics, ...identity }, respond, { brokerId, client }) {
      const known = getNode(brokerId).metadata.topics;
      const check = (topic: string, partition: number): number => {
        if (denied.has(topic)) return codes.topicDenied;
        const isKnown = known.get(topic)?.partitions[partition] !== undefined;
        return isKnown ? codes.none : codes.unknownTopicOrPartition;
      };
      const checked = mapPartitions(topics, (topic, partition) => ({
        partition,
        error: check(topic, partition),
      }));
      const isRefused = checked.some(({ partitions }) => partitions.some((one) => one.error !== codes.none));
      const announced = topics.flatMap(({ topic, partitions }) =>
        partitions.map((partition) => ({ topic, partition })),
      );
      // All or nothing, as in Kafka.
      const error = isRefused
        ? codes.operationNotAttempted
        : transactions.addPartitions(identity, announced, client);
      respond({
        throttle,
        topics: mapPartitions(checked, (_, one) => (one.error === codes.none ? { ...one, error } : one)),
      });
    },
    addOffsetsToTxn1({ groupId, ...identity }, respond, { client }) {
      const error = denied.has(groupId)
        ? codes.groupDenied
        : transactions.addOffsets(identity, groupId, client);
      respond({ throttle, error });
    },
    endTxn1({ commit, ...identity }, respond) {
      respond({ throttle, error: transactions.end(identity, commit) });
    },
  };
}
