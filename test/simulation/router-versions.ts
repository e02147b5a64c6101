/** The topics of the router's world, and all of their versions. */
import { newId } from "@topicsync/lib/sys-id";
import { collections } from "../../src/storage/names.ts";
import type { Topic } from "../../src/topics/topic.ts";
import type { Clock, Commit, Document, MongoServer } from "../simulated-servers/index.ts";

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
    | {
        readonly topic: Pick<Topic, "externalId" | "namespace">;
        readonly filter: Filter;
        /** Differs from that of every other version. */
        readonly contentQuery: string;
      }
    | undefined;
  /** When an election took it back. */
  lostAt: number;
}

interface TopicVersionsOptions {
  readonly clock: Clock;
  readonly server: MongoServer;
  /** Called after an election took versions back. */
  readonly onRollback: () => void;
}

export const namespaces: readonly string[] = ["a", "b", "bad name"];

export function createTopicVersions({ clock, server, onRollback }: TopicVersionsOptions, count: number) {
  const ids = Array.from({ length: count }, (_, index) => (index === 0 ? "topic 0!" : `topic-${index}`));
  const versions = new Map<string, TopicVersion[]>(
    ids.map((id) => [id, [{ number: 0, storedAt: 0, commit: 0, definition: undefined, lostAt: Infinity }]]),
  );
  /** The filters of what was written, by the text that marks it. */
  const marks = new Map<string, Filter>();

  const getVersions = (id: string): TopicVersion[] => versions.get(id) ?? [];

  function add(commit: Commit, isLost: boolean): void {
    for (const { collection, before, after } of commit.changes) {
      if (collection !== collections.topics) continue;
      const [former, next] = [before, after].map((one) => one && String(one["topic_id"]));
      // A topic that is renamed leaves its former external id.
      if (former !== undefined && former !== next) push(former, undefined, commit, isLost);
      if (next !== undefined) push(next, after, commit, isLost);
    }
  }

  function push(id: string, record: Document | undefined, commit: Commit, isLost: boolean): void {
    const all = getVersions(id);
    const filter = marks.get(String(record?.["content_query"]));
    all.push({
      number: all.length,
      storedAt: clock.getTime(),
      commit: commit.number,
      definition:
        record === undefined || filter === undefined
          ? undefined
          : {
              topic: { externalId: id, namespace: String(record["namespace"]) },
              filter,
              contentQuery: String(record["content_query"]),
            },
      lostAt: isLost ? clock.getTime() : Infinity,
    });
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
      onRollback();
    },
  });

  /** A topic whose content query has a condition that every event meets, and that no other version has. */
  function define(externalId: string, variant: number) {
    const filter = filters[variant % filters.length] ?? filters[0];
    const namespace = namespaces[Math.floor(variant / filters.length) % namespaces.length] ?? "a";
    const mark = `padding!=${newId()}`;
    const contentQuery = filter.contentQuery === "" ? mark : `${filter.contentQuery}&${mark}`;
    marks.set(contentQuery, filter);
    const { headerQuery } = filter;
    return { id: externalId, externalId, name: externalId, namespace, headerQuery, contentQuery };
  }

  return {
    /** External ids. */
    ids,
    /** Oldest first. */
    get: (id: string): readonly TopicVersion[] => getVersions(id),
    define,
  };
}
