import kafkajs, { type Admin } from "kafkajs";

import { UnavailableError } from "../../lib/errors.ts";
import type { LogObserver, LogWatch } from "../../sync/records.ts";
import { findDenial, quoteGroup, quoteTopic, toKafkaError } from "../errors.ts";
import { readBounds } from "../reader.ts";
import { readTopicSettings } from "./topics.ts";

/** Creates the reader of a topic's bounds and settings. */
export function createWatch(admin: Admin, topic: string): LogWatch {
  return {
    async fetchBounds() {
      const bounds = await readBounds(admin, topic);
      if (bounds === undefined) throw new UnavailableError(`there is no Kafka topic named "${topic}"`);
      return bounds;
    },

    async findFirstSince(timestamp) {
      const found = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp).catch((error: unknown) => {
        throw toKafkaError(error, { TOPIC_AUTHORIZATION_FAILED: `Describe on ${quoteTopic(topic)}` });
      });
      return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
    },

    async fetchTombstoneRetentionMs() {
      try {
        const settings = await readTopicSettings(admin, topic, ["cleanup.policy", "delete.retention.ms"]);
        const isCompacted = settings["cleanup.policy"]?.includes("compact") === true;
        return isCompacted ? Number(settings["delete.retention.ms"]) : undefined;
      } catch (error) {
        if (findDenial(error) !== undefined) return undefined;
        throw toKafkaError(error);
      }
    },
  };
}

/** As the end of a partition, `committed` reports the last stable offset, `uncommitted` the high watermark. */
export interface ObserverAdmins {
  readonly committed: Admin;
  readonly uncommitted: Admin;
}

/** Creates the observer of a topic and the group that reads it. */
export function createObserver(
  { committed, uncommitted }: ObserverAdmins,
  { topic, groupId }: { readonly topic: string; readonly groupId: string },
): LogObserver {
  const readable = createWatch(committed, topic);
  const all = createWatch(uncommitted, topic);
  return {
    async fetchBounds() {
      // In this order: a last stable offset before an earlier high watermark proves that a transaction is open.
      const bounds = await all.fetchBounds();
      const readableBounds = await readable.fetchBounds();
      return new Map(
        [...bounds].map(([partition, { low, high }]) => {
          const stable = readableBounds.get(partition)?.high ?? high;
          return [partition, { low, high: Math.max(high, stable), stable }];
        }),
      );
    },

    findFirstSince: (timestamp) => all.findFirstSince(timestamp),

    async fetchOwners() {
      const { groups } = await committed.describeGroups([groupId]).catch((error: unknown) => {
        throw toKafkaError(error, { GROUP_AUTHORIZATION_FAILED: `Describe on ${quoteGroup(groupId)}` });
      });
      const owners = new Map<number, string>();
      for (const { clientId, clientHost, memberAssignment } of groups.flatMap(({ members }) => members)) {
        const decoded = kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment);
        for (const partition of decoded?.assignment[topic] ?? [])
          owners.set(partition, `${clientId} at ${clientHost.replace(/^\//, "")}`);
      }
      return owners;
    },
  };
}
