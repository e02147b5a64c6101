import kafkajs, { type Admin } from "kafkajs";

import { Unavailable } from "../errors.ts";
import type { LogWatch } from "../records.ts";
import { unavailable } from "./failures.ts";
import { boundsOf } from "./log-reader.ts";

/** Watches a Kafka topic and the group that reads it, by kafkajs. */
export function createWatch(
  admin: Admin,
  { topic, groupId }: { readonly topic: string; readonly groupId: string },
): LogWatch {
  return {
    async bounds() {
      const bounds = await boundsOf(admin, topic);
      if (bounds === undefined) throw new Unavailable(`there is no Kafka topic named "${topic}"`);
      return bounds;
    },

    async firstSince(timestamp) {
      const found = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp).catch(fail);
      return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
    },

    async owners() {
      const { groups } = await admin.describeGroups([groupId]).catch(fail);
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

const fail = (error: unknown): never => {
  throw unavailable(error);
};
