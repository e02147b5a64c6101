/** What administrators of Kafka and MongoDB do in the sync's world. */
import type { Database } from "../../src/storage/database.ts";
import { collections } from "../../src/storage/names.ts";
import type { PositionRecord } from "../../src/storage/position-records.ts";
import type { Clock, Host } from "./clock.ts";
import type { Cluster } from "./cluster/cluster.ts";
import { nameFetching } from "./cluster/lookups.ts";
import type { Random } from "./random.ts";
import { creation } from "./cluster/data-requests.ts";
import type { Position } from "./sync-changes.ts";
import type { Right, SyncAction } from "./sync-steps.ts";
import { findOffset, type SyncTopic } from "./sync-topic.ts";
import { startOfTime } from "./world.ts";

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
  {
    readonly do:
      | "set position"
      | "lose position"
      | "set offset"
      | "expire offsets"
      | "refuse topics"
      | "revoke right"
      | "grant right";
  }
>;

export function createAdministration(options: AdministrationOptions) {
  const { clock, cluster, topic, topicName, groupId, deadLetterTopic, operator, database } = options;
  const deniedNames: Readonly<Record<Right, string>> = {
    read: topicName,
    fetch: nameFetching(topicName),
    group: groupId,
    "write dead letters": deadLetterTopic,
    "create topics": creation,
  };
  const positions = database.collection<PositionRecord>(collections.positions);
  let wasDenied = false;
  let hasMovedPositions = false;
  /** Changes of the database that have begun and not ended. */
  let pending = 0;

  /** With the tools of MongoDB, where there is one in the log that is there. */
  function setPosition(partition: number, topicId: string | undefined, offset: number): void {
    const filter = {
      "_id.partition": partition,
      ...(topicId === undefined ? {} : { kafka_topic_id: topicId }),
    };
    attempt(() => positions.updateOne(filter, { $set: { next_offset: offset } }));
  }

  /** Without a topic id; each partition had epochs of its own. */
  function insertPosition(partition: number, { offset, epoch }: Position): void {
    attempt(() =>
      positions.insertOne({
        _id: { group: groupId, topic: topicName, partition },
        next_offset: offset,
        ...(epoch === 1 ? {} : { epoch }),
        updated_on: new Date(startOfTime),
      }),
    );
  }

  function attempt(change: () => Promise<unknown>): void {
    pending += 1;
    clock.schedule(operator, 0, () => {
      change()
        .catch(() => undefined)
        .finally(() => {
          pending -= 1;
        });
    });
  }

  return {
    /** Whether a right was ever missing. */
    wasDenied: (): boolean => wasDenied,
    hasMovedPositions: (): boolean => hasMovedPositions,
    hasEnded: (): boolean => pending === 0,

    /** The database is from a version that did not know the ids of topics. */
    insertOldPositions(random: Random): void {
      for (const { partition } of topic.list()) {
        const records = Array.from({ length: random.between(1, 6) }, (_, id) => ({ id, skewMs: 0 }));
        const sent = records.map((record) => ({ ...record, kind: "define", variant: 0 }) as const);
        topic.act({ do: "produce", partition, records: sent, transaction: "none" });
        const offset = random.between(0, records.length + 1);
        insertPosition(partition, { offset, epoch: random.between(1, 4) });
      }
    },

    act(action: AdministrationAction): void {
      if (action.do === "expire offsets") {
        cluster.groups.deleteTopicOffsets(topicName);
        return;
      }
      if (action.do === "refuse topics") {
        cluster.refuseTopics(action.ms);
        return;
      }
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
      hasMovedPositions ||= action.do !== "set offset";
      if (action.do === "lose position") {
        attempt(() => positions.deleteOne({ "_id.partition": partition }));
        return;
      }
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
