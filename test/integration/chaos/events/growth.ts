import type { Admin } from "kafkajs";

import type { Random } from "../../../support/random.ts";
import type { Deadline } from "../deadline.ts";
import { countPartitions } from "../log.ts";

/** Kafka topics that get more partitions. Knows how many they had at which time. */
export interface Growth {
  /** Adds one or two partitions to a topic that has grown least. Returns a description. */
  readonly addPartitions: (deadline: Deadline) => Promise<string>;
  count(topic: string): number;
  /**
   * The numbers of partitions that a producer may have known between two times, in milliseconds since 1970.
   */
  findCounts(topic: string, from: number, to: number): readonly number[];
}

/**
 * How long a producer may use the former number of partitions: what it knows is up to 20 s old, and a broker
 * may be behind.
 */
const maxAgeMs = 30_000;

interface Size {
  readonly count: number;
  /** It was not used before. */
  readonly from: number;
  /** It was not used after. */
  to: number;
}

export function createGrowth(
  admin: Admin,
  random: Random,
  initial: Readonly<Record<string, number>>,
): Growth {
  const sizes = new Map(
    Object.entries(initial).map(([topic, count]): [string, Size[]] => [
      topic,
      [{ count, from: -Infinity, to: Infinity }],
    ]),
  );
  const getSizes = (topic: string): Size[] => sizes.get(topic) ?? [];
  const count = (topic: string): number => getSizes(topic).at(-1)?.count ?? 0;

  function pickTopic(): string | undefined {
    const least = Math.min(...[...sizes.values()].map(({ length }) => length));
    return random.pickOptional([...sizes].filter(([, { length }]) => length === least))?.[0];
  }

  return {
    count,
    async addPartitions(deadline) {
      const topic = pickTopic();
      if (topic === undefined) throw new Error("no topic can grow");
      const before = count(topic);
      const wanted = before + random.between(1, 2);
      const from = Date.now();
      await deadline.waitUntil(`${topic} has ${wanted} partitions`, async () => {
        if ((await countPartitions(admin, topic)) === wanted) return true;
        await admin.createPartitions({ topicPartitions: [{ topic, count: wanted }] });
        return false;
      });
      const last = getSizes(topic).at(-1);
      if (last !== undefined) last.to = Date.now() + maxAgeMs;
      getSizes(topic).push({ count: wanted, from, to: Infinity });
      return `${topic} has ${wanted} partitions instead of ${before}`;
    },
    findCounts: (topic, from, to) =>
      getSizes(topic)
        .filter((size) => size.from <= to && size.to >= from)
        .map((size) => size.count),
  };
}
