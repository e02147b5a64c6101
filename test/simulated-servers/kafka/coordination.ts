/** What the coordinators of groups and of transactions answer, and brokers that are not coordinators. */
import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import type { Request, Response } from "../wire/messages.ts";
import { codes } from "./errors.ts";
import { Group } from "./groups.ts";
import { failJoin, findJoinFault } from "./members.ts";
import { GroupOffsets, noOffset, type CommittedOffset } from "./offsets.ts";
import { refusals, type GroupRequest, type TransactionRequest } from "./refusals.ts";
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
    /** Whether anybody wanted to join it or committed offsets. */
    exists: (id: string): boolean =>
      groups.get(id)?.isKnown === true || (offsets.get(id)?.list().length ?? 0) > 0,
    listAll: () => [...groups.values()],
    delete(id: string): void {
      groups.delete(id);
      offsets.delete(id);
    },
    /** As Kafka does when a topic is deleted. */
    deleteTopicOffsets(topic: string): void {
      for (const ofGroup of offsets.values())
        for (const key of ofGroup.list()) if (key.startsWith(`${topic}-`)) ofGroup.delete(key);
    },
  };
}

export type Groups = ReturnType<typeof createGroups>;

const throttle = 0;

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

  const groupHandlers = createGroupHandlers(groups, { transactions, getNode, denied });
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

const unknownGroup = { state: "Dead", protocolType: "", protocol: "", members: [] } as const;

const toOffsets = (topics: Request<"txnOffsetCommit1">["topics"]): ReadonlyMap<string, CommittedOffset> =>
  new Map(
    topics.flatMap(({ topic, partitions }) =>
      partitions.map(
        ({ partition, offset, metadata }) =>
          [toKey(topic, partition), { offset, metadata: metadata ?? "" }] as const,
      ),
    ),
  );

interface GroupHandlerOptions {
  readonly transactions: TransactionCoordinator;
  readonly getNode: (nodeId: number) => BrokerNode;
  readonly denied: ReadonlySet<string>;
}

function createGroupHandlers(
  groups: Groups,
  { transactions, getNode, denied }: GroupHandlerOptions,
): Handlers<GroupRequest> {
  /** As Kafka does, a broker looks at the names of topics only. */
  function checkTopic(topic: string, brokerId: number): number {
    if (denied.has(topic)) return codes.topicDenied;
    return getNode(brokerId).metadata.topics.has(topic) ? codes.none : codes.unknownTopicOrPartition;
  }

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
      const error = denied.has(body.groupId) ? codes.groupDenied : findJoinFault(body);
      if (error !== undefined) respond(failJoin(error, body.memberId));
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
    offsetCommit5({ topics, ...body }, respond, { brokerId }) {
      const isUnknown = body.generation >= 0 && !groups.exists(body.groupId);
      const refusal = isUnknown ? codes.illegalGeneration : groups.get(body.groupId).checkCommit(body);
      const offsets = groups.getOffsets(body.groupId);
      respond({
        throttle,
        topics: mapPartitions(topics, (topic, { partition, offset, metadata }) => {
          const checked = checkTopic(topic, brokerId);
          const error = checked === codes.none ? refusal : checked;
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
        ...(groups.exists(groupId) ? groups.get(groupId).describe() : unknownGroup),
      }));
      respond({ throttle, groups: described });
    },
    deleteGroups1({ groups: ids }, respond) {
      const results = ids.map((groupId) => {
        if (!groups.exists(groupId)) return { groupId, error: codes.groupNotFound };
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
    describeTransactions0({ transactionalIds }, respond) {
      respond({ throttle, transactions: transactionalIds.map((id) => transactions.describe(id)) });
    },
  };
}
