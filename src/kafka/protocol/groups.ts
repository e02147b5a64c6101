/** Requests about consumer groups. Each is answered for the groups that a broker coordinates. */

import type { Reader } from "./format.ts";
import { failOnError, sendRequest, supports, type RequestTarget } from "./request.ts";

export interface ListedGroup {
  readonly groupId: string;
  /** Kafka's name; empty if the broker does not report it. */
  readonly state: string;
  /** "classic", "consumer" (KIP-848), "share" or "streams"; "classic" if the broker has no types. */
  readonly type: string;
}

const listGroupsKey = 16;
/** Kafka 3.8: the first with types. */
const versionWithTypes = 5;

/** Lists the groups that the user may describe. Throws kafkajs' errors. */
export function requestGroups(broker: RequestTarget): Promise<ListedGroup[]> {
  const withTypes = supports(broker, listGroupsKey, versionWithTypes);
  return sendRequest(broker, {
    apiKey: listGroupsKey,
    apiVersion: withTypes ? versionWithTypes : 2,
    apiName: "ListGroups",
    isFlexible: withTypes,
    encode(writer) {
      // Empty lists of states and types ask for all.
      if (withTypes) writer.list([], () => undefined).list([], () => undefined);
      writer.end();
    },
    decode(reader) {
      reader.int32();
      failOnError(reader.int16());
      return reader.list(() => {
        const groupId = reader.text() ?? "";
        reader.text();
        const state = withTypes ? (reader.text() ?? "") : "";
        const type = withTypes ? (reader.text() ?? "").toLowerCase() : "classic";
        reader.end();
        return { groupId, state, type };
      });
    },
  });
}

export interface DescribedGroup {
  /** An error code of Kafka's protocol; 0 if the group is described. */
  readonly error: number;
  readonly groupId: string;
  readonly state: string;
  readonly members: readonly { readonly clientId: string; readonly host: string }[];
}

/** Describes groups of the classic protocol. Throws kafkajs' errors. */
export const requestClassicGroups = (
  broker: RequestTarget,
  groupIds: readonly string[],
): Promise<DescribedGroup[]> =>
  sendRequest(broker, {
    apiKey: 15,
    apiVersion: 2,
    apiName: "DescribeGroups",
    isFlexible: false,
    encode: (writer) => writer.list(groupIds, (id) => writer.text(id)),
    decode(reader) {
      reader.int32();
      return reader.list(() => {
        const error = reader.int16();
        const groupId = reader.text() ?? "";
        const state = reader.text() ?? "";
        // The type of the protocol, and the protocol.
        repeat(2, () => reader.text());
        const members = reader.list(() => {
          reader.text();
          const clientId = reader.text() ?? "";
          const host = toHost(reader.text());
          // Metadata and assignment.
          repeat(2, () => reader.bytes(Math.max(0, reader.int32())));
          return { clientId, host };
        });
        return { error, groupId, state, members };
      });
    },
  });

/** Describes groups of the protocol of KIP-848. Throws kafkajs' errors. */
export const requestConsumerGroups = (
  broker: RequestTarget,
  groupIds: readonly string[],
): Promise<DescribedGroup[]> =>
  sendRequest(broker, {
    apiKey: 69,
    apiVersion: 0,
    apiName: "ConsumerGroupDescribe",
    isFlexible: true,
    encode: (writer) =>
      writer
        .list(groupIds, (id) => writer.text(id))
        .boolean(false)
        .end(),
    decode(reader) {
      reader.int32();
      return reader.list(() => {
        const error = reader.int16();
        reader.text();
        const groupId = reader.text() ?? "";
        const state = reader.text() ?? "";
        // The epochs of the group and of its assignment, and the assignor.
        repeat(2, () => reader.int32());
        reader.text();
        const members = reader.list(() => readMember(reader));
        reader.int32();
        reader.end();
        return { error, groupId, state, members };
      });
    },
  });

const topicIdBytes = 16;

function readMember(reader: Reader): DescribedGroup["members"][number] {
  // The ids of the member, of its instance and of its rack, and its epoch.
  repeat(3, () => reader.text());
  reader.int32();
  const clientId = reader.text() ?? "";
  const host = toHost(reader.text());
  reader.list(() => reader.text());
  reader.text();
  // Its assignment, and the one that it is to have.
  repeat(2, () => {
    reader.list(() => {
      reader.bytes(topicIdBytes);
      reader.text();
      reader.list(() => reader.int32());
      reader.end();
    });
    reader.end();
  });
  reader.end();
  return { clientId, host };
}

/** Reads what is not used. */
function repeat(count: number, read: () => unknown): void {
  for (let left = count; left > 0; left -= 1) read();
}

/** Kafka reports addresses with a slash before them. */
const toHost = (text: string | null): string => (text ?? "").replace(/^\//, "");

/** The offsets that a group has committed in a Kafka topic, by partition. */
export interface GroupOffsets {
  readonly topic: string;
  readonly offsets: readonly { readonly partition: number; readonly offset: number }[];
}

/** Reads all offsets of a group in topics that the user may describe. Throws kafkajs' errors. */
export const requestGroupOffsets = (broker: RequestTarget, groupId: string): Promise<GroupOffsets[]> =>
  sendRequest(broker, {
    apiKey: 9,
    apiVersion: 7,
    apiName: "OffsetFetch",
    isFlexible: true,
    encode: (writer) =>
      writer
        .text(groupId)
        .list(null, () => undefined)
        .boolean(false)
        .end(),
    decode(reader) {
      reader.int32();
      const topics = reader.list(() => {
        const topic = reader.text() ?? "";
        const offsets = reader.list(() => {
          const partition = reader.int32();
          const offset = Number(reader.int64());
          reader.int32();
          reader.text();
          failOnError(reader.int16());
          reader.end();
          return { partition, offset };
        });
        reader.end();
        return { topic, offsets: offsets.filter(({ offset }) => offset >= 0) };
      });
      failOnError(reader.int16());
      return topics;
    },
  });

const describeClusterKey = 60;
const describeOperation = 8;

/**
 * Whether the user may describe the cluster, and therefore sees all groups; undefined if the broker cannot
 * tell (before Kafka 2.8). Throws kafkajs' errors.
 */
export async function requestClusterRight(broker: RequestTarget): Promise<boolean | undefined> {
  if (!supports(broker, describeClusterKey, 0)) return undefined;
  return sendRequest(broker, {
    apiKey: describeClusterKey,
    apiVersion: 0,
    apiName: "DescribeCluster",
    isFlexible: true,
    encode: (writer) => writer.boolean(true).end(),
    decode(reader) {
      reader.int32();
      failOnError(reader.int16());
      // The message of the error, and the cluster's id.
      repeat(2, () => reader.text());
      reader.int32();
      reader.list(() => {
        reader.int32();
        reader.text();
        reader.int32();
        reader.text();
        reader.end();
      });
      // Bit n stands for the operation with the number n.
      return (reader.int32() & (1 << describeOperation)) !== 0;
    },
  });
}
