/**
 * What the index of a process may hold: never an older version of a topic than one that it has held or read.
 */
import type { PickableTopic } from "../../src/topics/live/feed.ts";
import type { LiveTopicIndex } from "../../src/topics/live/live-topic-index.ts";
import type { EventContent, TopicVersion } from "./router-versions.ts";
import { Violation } from "./violation.ts";

export interface IndexWatchOptions {
  /** Of the process. */
  readonly name: string;
  /** External ids. */
  readonly ids: readonly string[];
  readonly getVersions: (id: string) => readonly TopicVersion[];
  readonly pickNow: LiveTopicIndex["pickNow"];
}

export type IndexWatch = ReturnType<typeof createIndexWatch>;

/** One for each answer that the filters give. */
const contents: readonly EventContent[] = ["A", "B"].flatMap((eventType) =>
  ["0", "1"].map((level) => ({ eventType, level })),
);

export function createIndexWatch({ name, ids, getVersions, pickNow }: IndexWatchOptions) {
  /** The number of the oldest version that the index may hold, by external id. */
  const least = new Map<string, number>();
  /** How often each topic was forgotten. */
  const forgotten = new Map<string, number>();

  const listPossible = (id: string): readonly TopicVersion[] =>
    getVersions(id).filter(({ number }) => number >= (least.get(id) ?? 0));

  /** One of these is held. What an election took back says nothing, as an older version takes its place. */
  function raise(id: string, held: readonly TopicVersion[]): void {
    const [first] = held;
    if (first !== undefined && held.every(({ lostAt }) => lostAt === Infinity)) least.set(id, first.number);
  }

  /** What the index picks, by content; undefined unless it knows every change. */
  function pickAll(): readonly ReadonlySet<string>[] | undefined {
    const picked = contents.map(({ eventType, level }) =>
      pickNow({ eventId: "1", "@type": "Event", eventType, event: { level, padding: "" } }),
    );
    const known = picked.filter((one) => one !== undefined);
    return known.length === picked.length ? known.map((one) => new Set(one)) : undefined;
  }

  return {
    /** Feeds may be lost, elections take back what was read, and a process may hear late of what it wrote. */
    forget(externalIds: readonly string[] = ids): void {
      for (const id of externalIds) {
        least.delete(id);
        forgotten.set(id, (forgotten.get(id) ?? 0) + 1);
      }
    },

    /** The process reads topics. Returns what is to be called with the result. */
    beginRead(externalIds: readonly string[]): (found: readonly PickableTopic[]) => void {
      const before = new Map(forgotten);
      return (found) => {
        for (const id of externalIds) {
          if (forgotten.get(id) !== before.get(id)) continue;
          const text = found.find(({ externalId }) => externalId === id)?.contentQuery;
          raise(
            id,
            listPossible(id).filter(({ definition }) => definition?.contentQuery === text),
          );
        }
      };
    },

    /** Throws a Violation if the index holds an older version. */
    check(): void {
      const picked = pickAll();
      for (const id of picked === undefined ? [] : ids) {
        const held = listPossible(id).filter((version) => isPickedAs(version, id, picked));
        if (held.length === 0)
          throw new Violation(`the index of ${name} holds an older version of ${id} than before`);
        raise(id, held);
      }
    },

    /** Throws a Violation unless the index holds the last version of each topic, or is being loaded. */
    checkLast(): void {
      const picked = pickAll();
      for (const id of picked === undefined ? [] : ids) {
        const last = getVersions(id).findLast(({ lostAt }) => lostAt === Infinity);
        if (last !== undefined && !isPickedAs(last, id, picked))
          throw new Violation(`the index of ${name} does not hold the last version of ${id}`);
      }
    },
  };
}

const isPickedAs = (
  { definition }: TopicVersion,
  id: string,
  picked: readonly ReadonlySet<string>[] = [],
): boolean =>
  contents.every(
    (content, index) => picked[index]?.has(id) === (definition?.filter.matches(content) === true),
  );
