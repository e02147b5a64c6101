import kafkajs, { type Admin } from "kafkajs";

import { UnavailableError } from "@topicsync/lib/errors";
import type { LogObserver, LogWatch } from "../interface/records.ts";
import { isResponse, quoteGroup, toKafkaError } from "../errors.ts";
import type { Isolation, PartitionScope } from "../log-requests.ts";
import type { KafkaRequests } from "../requests.ts";
import { readTopicSettings } from "./topic-checks.ts";

/** The clients that a watch asks. */
interface WatchSources {
  readonly requests: Pick<KafkaRequests, "fetchLog" | "confirmLog">;
  readonly admin: Admin;
  /** Its data may be deleted at any time. It is then a new cluster, but there is no other one to mean. */
  readonly isEmbedded: boolean;
}

export function createWatch({ requests, admin, isEmbedded }: WatchSources, topic: string): LogWatch {
  return {
    async fetchLog(partition) {
      const log = await requests.fetchLog(topic, partition);
      return isEmbedded ? { ...log, clusterId: null } : log;
    },
    confirmLog: (partition, log) => requests.confirmLog(topic, partition, log),

    async fetchTombstoneRetentionMs() {
      try {
        const settings = await readTopicSettings(admin, topic, ["cleanup.policy", "delete.retention.ms"]);
        const isCompacted = settings["cleanup.policy"]?.includes("compact") === true;
        return isCompacted ? Number(settings["delete.retention.ms"]) : undefined;
      } catch (error) {
        if (isResponse(error)) return undefined;
        throw toKafkaError(error);
      }
    },
  };
}

/** Creates the observer of a topic and of the group that reads it. */
export function createObserver(
  { requests, admin }: { readonly requests: KafkaRequests; readonly admin: Admin },
  { topic, groupId }: { readonly topic: string; readonly groupId: string },
): LogObserver {
  async function fetchBounds(isolation: Isolation, scope: PartitionScope) {
    const bounds = await requests.fetchBounds(topic, isolation, scope);
    if (bounds === undefined) throw new UnavailableError(`there is no Kafka topic named "${topic}"`);
    return bounds;
  }

  return {
    async fetchBounds(scope) {
      // The order matters: a last stable offset before an earlier high watermark proves that a transaction is
      // open.
      const bounds = await fetchBounds("uncommitted", scope);
      const readableBounds = await fetchBounds("committed", scope);
      return new Map(
        [...bounds].map(([partition, { low, high }]) => {
          const stable = readableBounds.get(partition)?.high ?? high;
          return [partition, { low, high: Math.max(high, stable), stable }];
        }),
      );
    },

    findFirstSince: (timestamp, scope) => requests.findFirstSince(topic, timestamp, scope),

    async fetchOwners() {
      const { groups } = await admin.describeGroups([groupId]).catch((error: unknown) => {
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
