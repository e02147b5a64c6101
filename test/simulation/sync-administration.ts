/** What administrators of Kafka and MongoDB do in the sync's world. */
import type { Database } from "../../src/storage/database.ts";
import { collections } from "../../src/storage/names.ts";
import type { PositionRecord } from "../../src/storage/positions.ts";
import type { Clock, Host } from "./clock.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { Right, SyncAction } from "./sync-steps.ts";
import { findOffset, type SyncTopic } from "./sync-topic.ts";

export interface AdministrationOptions {
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly topic: SyncTopic;
  readonly topicName: string;
  readonly groupId: string;
  readonly deadLetterTopic: string;
  /** The machine of who works in the database. */
  readonly operator: Host;
  readonly database: Database;
}

export type AdministrationAction = Extract<
  SyncAction,
  { readonly do: "set position" | "set offset" | "revoke right" | "grant right" }
>;

export function createAdministration(options: AdministrationOptions) {
  const { clock, cluster, topic, topicName, groupId, deadLetterTopic, operator, database } = options;
  const deniedNames: Readonly<Record<Right, string>> = {
    read: topicName,
    group: groupId,
    "write dead letters": deadLetterTopic,
  };
  let wasDenied = false;

  /** With the tools of MongoDB, where there is one in the log that is there. */
  function setPosition(partition: number, topicId: string | undefined, offset: number): void {
    const filter = {
      "_id.partition": partition,
      ...(topicId === undefined ? {} : { kafka_topic_id: topicId }),
    };
    clock.schedule(operator, 0, () => {
      database
        .collection<PositionRecord>(collections.positions)
        .updateOne(filter, { $set: { next_offset: offset } })
        .catch(() => undefined);
    });
  }

  return {
    /** Whether a right was ever missing. */
    wasDenied: (): boolean => wasDenied,

    act(action: AdministrationAction): void {
      if ("right" in action) {
        const name = deniedNames[action.right];
        if (action.do === "grant right") cluster.denied.delete(name);
        else cluster.denied.add(name);
        wasDenied ||= action.do === "revoke right";
        return;
      }
      const found = topic.find(action.partition);
      if (found === undefined) return;
      const { partition, log } = found;
      const offset = action.share === undefined ? undefined : findOffset(log, action.share);
      if (action.do === "set offset")
        cluster.setOffset(
          groupId,
          topicName,
          partition,
          offset === undefined ? undefined : { offset, metadata: "" },
        );
      else if (offset !== undefined) setPosition(partition, topic.identify(log).topicId, offset);
    },
  };
}
