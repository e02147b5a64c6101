/**
 * What survives when a coordinator is killed, and what brokers answer while it is away and after it has come
 * back.
 */
import type { CoordinatorKind } from "../kafka/coordination.ts";
import {
  fetchByName,
  findCoordinator,
  listOffset,
  nameError,
  type BrokerIndex,
  type ClusterScene,
  type ClusterUnderTest,
} from "./cluster-under-test.ts";
import {
  commitOffset,
  deleteGroup,
  describeGroup,
  fetchOffset,
  heartbeat,
  join,
  joinAlone,
  leave,
  sync,
} from "./group-requests.ts";
import {
  addOffsets,
  addPartition,
  commitOffsets,
  end,
  endCompleted,
  initialise,
  send,
  untilAdded,
  type Producer,
} from "./transaction-requests.ts";

const latest = -1;

/** Waits until broker 0 coordinates what broker 1 did, and has loaded it. */
const untilTakenOver = (cluster: ClusterUnderTest, kind: CoordinatorKind, isLoaded: () => Promise<boolean>) =>
  cluster.until(`another broker coordinates: ${kind}`, async () => {
    const { error, nodeId } = await findCoordinator(cluster, 0, kind, "any");
    return error === "none" && nodeId === 0 && (await isLoaded());
  });

/** Waits until broker 1 knows that broker 0 coordinates. */
const untilKnown = (cluster: ClusterUnderTest, kind: CoordinatorKind) =>
  cluster.until(`the broker that came back knows who coordinates: ${kind}`, async () => {
    const { error, nodeId } = await findCoordinator(cluster, 1, kind, "any");
    return error === "none" && nodeId === 0;
  });

/** Groups in every state, coordinated by broker 1. */
async function createGroups(cluster: ClusterUnderTest, topic: string) {
  const names = {
    stable: cluster.name("stable"),
    unsynced: cluster.name("unsynced"),
    rejoined: cluster.name("rejoined"),
    left: cluster.name("left"),
    invited: cluster.name("invited"),
    tool: cluster.name("tool"),
  };
  const joinAndSync = async (groupId: string) => {
    const member = await joinAlone(cluster, groupId, 1);
    await sync(cluster, groupId, member, 1);
    return member;
  };
  const stable = await joinAndSync(names.stable);
  const unsynced = await joinAlone(cluster, names.unsynced, 1);
  const former = await joinAndSync(names.rejoined);
  const rejoined = await join(cluster, names.rejoined, former.memberId, 1);
  const left = await joinAndSync(names.left);
  await leave(cluster, names.left, left.memberId, 1);
  const { memberId: invitedId } = await join(cluster, names.invited, "", 1);
  const committed = [
    await commitOffset(cluster, { broker: 1, groupId: names.stable }, topic, { ...stable, offset: 3 }),
    await commitOffset(cluster, { broker: 1, groupId: names.tool }, topic, { offset: 7 }),
  ];
  return { names, members: { stable, unsynced, former, rejoined, left }, invitedId, committed };
}

type Groups = Awaited<ReturnType<typeof createGroups>>;

async function describeAll(cluster: ClusterUnderTest, { names }: Groups, broker: BrokerIndex) {
  const described: Record<string, unknown> = {};
  for (const [name, groupId] of Object.entries(names))
    described[name] = await describeGroup(cluster, groupId, broker);
  return described;
}

/** The responses of the broker that took over to the members. */
async function askAll(
  cluster: ClusterUnderTest,
  { names, members, invitedId }: Groups,
  topic: string,
): Promise<unknown> {
  const { stable, unsynced, rejoined, former, left } = members;
  return {
    stable: [
      await sync(cluster, names.stable, stable),
      await heartbeat(cluster, names.stable, stable),
      await fetchOffset(cluster, { groupId: names.stable }, topic),
      await commitOffset(cluster, { groupId: names.stable }, topic, { ...stable, offset: 4 }),
      await fetchOffset(cluster, { groupId: names.stable }, topic),
    ],
    unsynced: [
      await heartbeat(cluster, names.unsynced, unsynced),
      await sync(cluster, names.unsynced, unsynced),
      nameError((await join(cluster, names.unsynced, unsynced.memberId)).error),
    ],
    rejoined: [
      await heartbeat(cluster, names.rejoined, rejoined),
      await sync(cluster, names.rejoined, rejoined),
      await heartbeat(cluster, names.rejoined, former),
      await sync(cluster, names.rejoined, former),
      rejoined.generation - former.generation,
    ],
    left: [await heartbeat(cluster, names.left, left), await deleteGroup(cluster, names.left)],
    invited: [
      nameError((await join(cluster, names.invited, invitedId)).error),
      await deleteGroup(cluster, names.invited),
    ],
    tool: [
      await fetchOffset(cluster, { groupId: names.tool }, topic),
      await deleteGroup(cluster, names.tool),
    ],
  };
}

/** Transactions in every state, coordinated by broker 1. */
async function createTransactions(cluster: ClusterUnderTest, topic: string, groupId: string) {
  const create = (name: string) => initialise(cluster, cluster.name(name), { coordinator: 1 });
  const ongoing = await create("ongoing");
  const idle = await create("idle");
  const ended = await create("ended");
  const abandoned = await create("abandoned");
  const begin = async (producer: Producer, value: string) => {
    await untilAdded(cluster, producer, topic);
    return (await send(cluster, producer, { topic }, { firstSequence: 0, values: [value] })).error;
  };
  const began = [
    await begin(ended, "ended"),
    await end(cluster, ended, true),
    await endCompleted(cluster, ended, true),
    await begin(ongoing, "ongoing"),
    await addOffsets(cluster, ongoing, groupId),
    await commitOffsets(cluster, ongoing, groupId, topic, 5),
    await begin(abandoned, "abandoned"),
  ];
  return { ongoing, idle, ended, abandoned, began };
}

export const coordinatorScenes: readonly ClusterScene[] = [
  {
    name: "a coordinator of groups that is killed, and comes back",
    async play(cluster) {
      const topic = cluster.name("read");
      await cluster.createTopic(topic, 1);
      await cluster.moveCoordinator("group", 1);
      const groups = await createGroups(cluster, topic);
      const { stable: groupId } = groups.names;
      const { stable: member } = groups.members;
      const before = await describeAll(cluster, groups, 1);
      await cluster.kill(1);
      await untilTakenOver(
        cluster,
        "group",
        async () => (await describeGroup(cluster, groupId))[0]?.error === "none",
      );
      const described = await describeAll(cluster, groups, 0);
      const away = await askAll(cluster, groups, topic);
      await cluster.start(1);
      await untilKnown(cluster, "group");
      const back = [
        await heartbeat(cluster, groupId, member, 1),
        await sync(cluster, groupId, member, 1),
        await commitOffset(cluster, { broker: 1, groupId }, topic, { ...member, offset: 9 }),
        await fetchOffset(cluster, { broker: 1, groupId }, topic),
        await describeGroup(cluster, groupId, 1),
        await heartbeat(cluster, groupId, member),
      ];
      const ended = [await leave(cluster, groupId, member.memberId), await deleteGroup(cluster, groupId)];
      return { committed: groups.committed, before, described, away, back, ended };
    },
  },
  {
    name: "a coordinator of transactions that is killed, and comes back",
    async play(cluster) {
      const topic = cluster.name("egress");
      const groupId = cluster.name("router");
      await cluster.createTopic(topic, 1);
      await cluster.moveCoordinator("group", 0);
      await cluster.moveCoordinator("transaction", 1);
      const { began, ...producers } = await createTransactions(cluster, topic, groupId);
      await cluster.kill(1);
      const move = (producer: Producer): Producer => ({ ...producer, coordinator: 0 });
      const ongoing = move(producers.ongoing);
      const idle = move(producers.idle);
      const ended = move(producers.ended);
      const abandoned = move(producers.abandoned);
      await untilTakenOver(
        cluster,
        "transaction",
        async () => (await addPartition(cluster, ongoing, topic)) === "none",
      );
      const owner = await initialise(cluster, abandoned.transactionalId);
      const away = {
        ended: [await end(cluster, ended, true), await end(cluster, ended, false)],
        idle: [await end(cluster, idle, true), await addPartition(cluster, idle, topic)],
        abandoned: [
          owner.producerEpoch - abandoned.producerEpoch,
          owner.producerId === abandoned.producerId,
          await addPartition(cluster, abandoned, topic),
        ],
        ongoing: [
          (await send(cluster, ongoing, { topic }, { firstSequence: 1, values: ["more"] })).error,
          await fetchOffset(cluster, { groupId }, topic, true),
          await end(cluster, ongoing, true),
          await endCompleted(cluster, ongoing, true),
        ],
      };
      await cluster.until("the offset is committed", async () => {
        const { found } = await fetchOffset(cluster, { groupId }, topic, true);
        return found?.[0] === "none";
      });
      await cluster.until(
        "nothing is open",
        async () => (await listOffset(cluster, { topic }, latest))?.offset === 7,
      );
      await cluster.start(1);
      await untilKnown(cluster, "transaction");
      const back = [
        await addPartition(cluster, producers.ongoing, topic),
        await addOffsets(cluster, producers.ongoing, groupId),
        await end(cluster, producers.ongoing, true),
      ];
      return {
        ...{ began, away, back },
        offset: await fetchOffset(cluster, { groupId }, topic),
        log: await fetchByName(cluster, { topic }),
      };
    },
  },
];
