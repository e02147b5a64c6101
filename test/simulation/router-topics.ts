/**
 * The topics of the router's world and all of their versions. They are stored in the simulated MongoDB, where the processes
 * follow them by the product's own feed, and where both the processes and others change them.
 */

import type { Logger } from "pino";
import { UnavailableError } from "../../src/lib/errors.ts";
import { currentDate } from "../../src/lib/platform.ts";
import { newId } from "../../src/lib/sys-id.ts";
import type { TopicFeed } from "../../src/matching/feed.ts";
import type { LiveTopicIndex } from "../../src/matching/live-topic-index.ts";
import type { Database } from "../../src/storage/database.ts";
import { collections } from "../../src/storage/names.ts";
import { createTopicFeed } from "../../src/storage/topic-feed.ts";
import {
  toRetiredId,
  toRetiredRecord,
  toTopicRecord,
  type RetiredRecord,
  type TopicRecord,
} from "../../src/storage/topic-records.ts";
import type { RetiredTopic, Topic } from "../../src/topics/topic.ts";
import { createHost, type Clock, type Host } from "./clock.ts";
import type { Commit } from "./mongo/commands.ts";
import type { MongoServer } from "./mongo/server.ts";
import type { Document } from "./mongo/documents.ts";
import type { Random } from "./random.ts";
import { Violation } from "./violation.ts";

/** The members of an event that filters look at. */
export interface EventContent {
  readonly eventType: string;
  readonly level: string;
}

interface Filter {
  readonly headerQuery: string;
  readonly contentQuery: string;
  /** What the two filters say. */
  readonly matches: (event: EventContent) => boolean;
}

const filters: readonly [Filter, ...Filter[]] = [
  { headerQuery: "", contentQuery: "", matches: () => true },
  { headerQuery: "eventType=A", contentQuery: "", matches: ({ eventType }) => eventType === "A" },
  { headerQuery: "", contentQuery: "level=1", matches: ({ level }) => level === "1" },
  {
    headerQuery: "eventType=B",
    contentQuery: "level=0",
    matches: ({ eventType, level }) => eventType === "B" && level === "0",
  },
];

/** A version of a topic. Without a definition, it does not exist. */
export interface TopicVersion {
  readonly number: number;
  readonly storedAt: number;
  readonly commit: number;
  readonly definition:
    { readonly topic: Pick<Topic, "externalId" | "namespace">; readonly filter: Filter } | undefined;
  /** When an election took it back. */
  lostAt: number;
}

/** How long a process may use what an election took back, or was replaced, after the last fault of the store. */
export const settleMs = 90_000;
const namespaces = ["a", "b", "bad name"];

/** What a process must know of the topics at a time. */
export interface Knowledges {
  readonly at: number;
  /** The number of the oldest version of each topic that it may use. */
  readonly first: ReadonlyMap<string, number>;
}

interface Writer {
  readonly host: Host;
  readonly database: Database;
  readonly changed: LiveTopicIndex["changed"];
}

export type RouterTopics = ReturnType<typeof createRouterTopics>;

interface RouterTopicsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly server: MongoServer;
  readonly log: Logger;
  readonly openDatabase: (host: Host) => Database;
}

export function createRouterTopics(
  { clock, random, server, log, openDatabase }: RouterTopicsOptions,
  count: number,
) {
  const ids = Array.from({ length: count }, (_, index) => (index === 0 ? "topic 0!" : `topic-${index}`));
  const versions = new Map<string, TopicVersion[]>(
    ids.map((id) => [id, [{ number: 0, storedAt: 0, commit: 0, definition: undefined, lostAt: Infinity }]]),
  );
  /** The filters of what was written, by the text that marks it. */
  const marks = new Map<string, Filter>();
  const databases = new Map<Host, Database>();
  const writers = new Map<Host, Writer>();
  /** Processes whose feed was lost and which have not loaded the topics since. */
  const unloaded = new Set<Host>();
  /** How soon a change is known while nothing disturbs the store. */
  const noticeMs = server.options.isReplicaSet ? 2_000 : 13_000;
  let disturbedUntil = -Infinity;

  const getVersions = (id: string): TopicVersion[] => versions.get(id) ?? [];

  function add(commit: Commit, isLost: boolean): void {
    for (const { collection, before, after } of commit.changes) {
      if (collection !== collections.topics) continue;
      const record = (after ?? before) as Document;
      const all = getVersions(String(record["topic_id"]));
      const filter = marks.get(String(record["content_query"]));
      all.push({
        number: all.length,
        storedAt: clock.getTime(),
        commit: commit.number,
        definition:
          after === undefined || filter === undefined
            ? undefined
            : {
                topic: { externalId: String(after["topic_id"]), namespace: String(after["namespace"]) },
                filter,
              },
        lostAt: isLost ? clock.getTime() : Infinity,
      });
    }
  }

  server.observe({
    onCommit: (commit) => {
      add(commit, false);
    },
    onLost: (commit) => {
      add(commit, true);
    },
    onRead: () => undefined,
    onRollback(lastKept) {
      for (const version of [...versions.values()].flat())
        if (version.commit > lastKept) version.lostAt = Math.min(version.lostAt, clock.getTime());
    },
  });

  function connect(host: Host): Database {
    const database = openDatabase(host);
    database.connect(new AbortController().signal).catch(clock.fail);
    databases.set(host, database);
    return database;
  }

  const others: Writer = (() => {
    const host = createHost("administrator");
    let database: Database | undefined;
    return {
      host,
      get database() {
        return (database ??= connect(host));
      },
      changed: () => undefined,
    };
  })();

  /** Stores a version, or removes the topic. Reports it to the process that wrote it, once it is acknowledged. */
  async function write(
    { database, changed }: Writer,
    id: string,
    variant: number | undefined,
  ): Promise<void> {
    const topics = database.collection<TopicRecord>(collections.topics);
    const at = currentDate();
    const source = { kind: "http", user: "admin" } as const;
    if (variant !== undefined) {
      const topic: Topic = { ...define(id, variant, marks), source, createdOn: at, updatedOn: at };
      const { _id, ...fields } = toTopicRecord(topic);
      await database.run(() => topics.replaceOne({ _id }, fields, { upsert: true }));
      changed({ updated: [topic] });
      return;
    }
    const stored = await database.run(() => topics.findOne({ _id: id }));
    if (stored === null) return;
    const topic = { ...define(id, 0, new Map()), source, createdOn: at, updatedOn: stored.sys_updated_on };
    const retired: RetiredTopic = { topic, retiredOn: at, retiredBy: source };
    const remove = async (options: object): Promise<void> => {
      await topics.deleteOne({ _id: id }, options);
      await database
        .collection<RetiredRecord>(collections.retiredTopics)
        .replaceOne({ _id: toRetiredId(retired) }, toRetiredRecord(retired), { ...options, upsert: true });
    };
    const session = database.startSession();
    if (session === undefined) await database.run(() => remove({}));
    else await database.runTransaction(session, () => remove({ session }));
    changed({ retired: [retired] });
  }

  return {
    ids,
    namespaces: namespaces as readonly string[],
    /** Whether nothing disturbs the store in this world, so that every change must be known soon. */
    isCalm: random.chance(0.4),

    /** Writes the next version of a topic; without a variant it is removed. */
    change(index: number, variant: number | undefined): void {
      const id = ids[index % count] ?? "";
      const alive = [...writers.values()].filter(
        ({ host }) => host.alive && host.frozenUntil <= clock.getTime(),
      );
      const own = random.chance(0.5) ? alive[random.between(0, alive.length)] : undefined;
      const writer = own ?? others;
      clock.schedule(writer.host, 0, () => {
        write(writer, id, variant).catch((error: unknown) => {
          if (!(error instanceof UnavailableError)) clock.fail(error);
        });
      });
    },

    /** Something disturbs the store, or its connections, until a time. */
    noteDisturbance(until: number): void {
      disturbedUntil = Math.max(disturbedUntil, until);
    },

    /** The product's feed, on the simulated store. */
    createFeed(host: Host): TopicFeed {
      const feed = createTopicFeed(connect(host), log);
      let isFollowed = false;
      return {
        find: (ids) => feed.find(ids),
        async *streamAll() {
          const wasFollowed = isFollowed;
          yield* feed.streamAll();
          if (wasFollowed && isFollowed) unloaded.delete(host);
        },
        async follow(listener) {
          const following = await feed.follow({
            onChanged: listener.onChanged,
            onLost(error) {
              isFollowed = false;
              unloaded.add(host);
              listener.onLost(error);
            },
          });
          isFollowed = true;
          return following;
        },
      };
    },

    /** Lets a process change topics, and checks that it uses its index only while that follows every change. */
    guard(host: Host, index: LiveTopicIndex): LiveTopicIndex {
      const database = databases.get(host);
      if (database !== undefined) writers.set(host, { host, database, changed: index.changed });
      return {
        ...index,
        pickNow(event) {
          const picked = index.pickNow(event);
          if (picked !== undefined && unloaded.has(host))
            clock.fail(new Violation(`${host.name} uses its index although changes may have been missed`));
          return picked;
        },
      };
    },

    recordKnowledge(): Knowledges {
      const now = clock.getTime();
      const isSettled = now >= disturbedUntil + settleMs;
      const first = new Map<string, number>();
      for (const [id, all] of versions) {
        const due = all.findLast(({ storedAt, lostAt }) => storedAt < now - noticeMs && lostAt === Infinity);
        first.set(id, isSettled ? (due?.number ?? 0) : 0);
      }
      return { at: now, first };
    },

    /** The versions from what a process knew until a time, oldest first. */
    listUsable: (id: string, { at, first }: Knowledges, until: number): readonly TopicVersion[] =>
      getVersions(id).filter(
        ({ number, storedAt, lostAt }) =>
          number >= (first.get(id) ?? 0) && storedAt <= until && lostAt + settleMs > at,
      ),
  };
}

/** A topic whose content query has a condition that every event meets, and that no other version has. */
function define(externalId: string, variant: number, marks: Map<string, Filter>) {
  const filter = filters[variant % filters.length] ?? filters[0];
  const namespace = namespaces[Math.floor(variant / filters.length) % namespaces.length] ?? "a";
  const mark = `padding!=${newId()}`;
  const contentQuery = filter.contentQuery === "" ? mark : `${filter.contentQuery}&${mark}`;
  marks.set(contentQuery, filter);
  const { headerQuery } = filter;
  return { id: externalId, externalId, name: externalId, namespace, headerQuery, contentQuery };
}
