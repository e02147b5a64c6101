/** Single requests to the coordinator of a group, and what it answers. */
import { codes } from "../kafka/errors.ts";
import type { Request } from "../wire/messages.ts";
import { nameError, type BrokerIndex, type ClusterUnderTest } from "./cluster-under-test.ts";

export interface Membership {
  readonly memberId: string;
  readonly generation: number;
}

/** Longer than a scene may take. */
const patienceMs = 600_000;
const protocols = [{ name: "range", metadata: Buffer.from("m") }];

export const join = (
  { ask }: ClusterUnderTest,
  groupId: string,
  memberId: string,
  broker: BrokerIndex = 0,
  other: Partial<Request<"joinGroup5">> = {},
) =>
  ask(broker, "joinGroup5", {
    ...{ groupId, memberId, groupInstanceId: null, sessionTimeout: patienceMs, rebalanceTimeout: patienceMs },
    protocolType: "consumer",
    protocols,
    ...other,
  });

export const sync = async (
  { ask }: ClusterUnderTest,
  groupId: string,
  { memberId, generation }: Membership,
  broker: BrokerIndex = 0,
) => {
  const assignments = [{ memberId, assignment: Buffer.from("all") }];
  const { error, assignment } = await ask(broker, "syncGroup3", {
    ...{ groupId, generation, memberId, groupInstanceId: null },
    assignments,
  });
  return [nameError(error), String(assignment)];
};

export const heartbeat = async (
  { ask }: ClusterUnderTest,
  groupId: string,
  { memberId, generation }: Membership,
  broker: BrokerIndex = 0,
) =>
  nameError(
    (await ask(broker, "heartbeat3", { groupId, generation, memberId, groupInstanceId: null })).error,
  );

export const leave = async (
  { ask }: ClusterUnderTest,
  groupId: string,
  memberId: string,
  broker: BrokerIndex = 0,
) => {
  const { error, members } = await ask(broker, "leaveGroup3", {
    groupId,
    members: [{ memberId, groupInstanceId: null }],
  });
  return [nameError(error), ...members.map((one) => nameError(one.error))];
};

/** Joins as the only member: its id, and what the responses were. */
export async function joinAlone(cluster: ClusterUnderTest, groupId: string, broker: BrokerIndex = 0) {
  for (;;) {
    const first = await join(cluster, groupId, "", broker);
    const again = await join(cluster, groupId, first.memberId, broker);
    const { error, generation, memberId, leaderId, members } = again;
    // The brokers under test look twice a second for groups without members and offsets, and delete them with
    // the ids that they gave out.
    if (error === codes.unknownMember) continue;
    return {
      memberId,
      generation,
      described: [
        nameError(first.error),
        nameError(error),
        generation,
        leaderId === memberId,
        members.map((one) => [one.memberId === memberId, String(one.metadata)]),
      ],
    };
  }
}

export const describeGroup = async ({ ask }: ClusterUnderTest, groupId: string, broker: BrokerIndex = 0) => {
  const { groups } = await ask(broker, "describeGroups2", { groups: [groupId] });
  return groups.map(({ error, state, protocolType, protocol, members }) => ({
    error: nameError(error),
    state,
    protocolType,
    protocol,
    members: members.map(({ metadata, assignment }) => [String(metadata), String(assignment)]),
  }));
};

export const deleteGroup = async ({ ask }: ClusterUnderTest, groupId: string, broker: BrokerIndex = 0) =>
  (await ask(broker, "deleteGroups1", { groups: [groupId] })).results.map(({ error }) => nameError(error));

export type GroupPlace = { readonly broker?: BrokerIndex; readonly groupId: string };

/** Commits an offset of partition 0: the error. */
export async function commitOffset(
  { ask }: ClusterUnderTest,
  { broker = 0, groupId }: GroupPlace,
  topic: string,
  commit: { readonly offset: number; readonly memberId?: string; readonly generation?: number },
): Promise<string> {
  const { offset, memberId = "", generation = -1 } = commit;
  const { topics } = await ask(broker, "offsetCommit5", {
    ...{ groupId, generation, memberId },
    topics: [{ topic, partitions: [{ partition: 0, offset, metadata: `at ${offset}` }] }],
  });
  return nameError(topics[0]?.partitions[0]?.error ?? -1);
}

/** The committed offset of partition 0. */
export async function fetchOffset(
  { ask }: ClusterUnderTest,
  { broker = 0, groupId }: GroupPlace,
  topic: string,
  requireStable = false,
) {
  const { error, topics } = await ask(broker, "offsetFetch7", {
    groupId,
    topics: [{ topic, partitions: [0] }],
    requireStable,
  });
  const found = topics[0]?.partitions[0];
  return {
    error: nameError(error),
    found: found && [nameError(found.error), found.offset, found.metadata],
  };
}
