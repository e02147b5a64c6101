import type { TopicDefinition } from "../../../src/topics/topic.ts";
import type { Random } from "../../support/random.ts";

/** An announcement before it is encoded. */
export type Step = (
  | { readonly kind: "define"; readonly definition: TopicDefinition }
  | { readonly kind: "retire"; readonly externalId: string }
  | { readonly kind: "garbage"; readonly definition: TopicDefinition }
) & {
  readonly partition: number;
  /** The kind of change that it is part of, for error messages. */
  readonly move: string;
};

/** Topics that may conflict over external ids and combinations. They are all announced in one partition. */
interface Family {
  readonly number: number;
  readonly partition: number;
  ids: number;
  /** The topics announced so far, ignoring rejections. Only guides the choice of moves. */
  readonly live: Map<string, TopicDefinition>;
}

export interface ScenarioOptions {
  readonly partitions: number;
  /** Topics created over HTTP before the first announcement. */
  readonly httpTopicCount: number;
}

const maxIdsPerFamily = 8;

/** An endless, reproducible sequence of announcements. */
export function createScenario(random: Random, { partitions, httpTopicCount }: ScenarioOptions) {
  const families: Family[] = [];

  function createFamily(): Family {
    const family = {
      number: families.length,
      partition: random.between(0, partitions - 1),
      ids: 0,
      live: new Map(),
    };
    families.push(family);
    return family;
  }

  /** Mostly a recent one, so that the announcements of a batch affect each other. */
  function pickFamily(): Family {
    const from = random.chance(0.6) ? Math.max(0, families.length - 60) : 0;
    return families[random.between(from, families.length - 1)] ?? createFamily();
  }

  const pickTopic = ({ live }: Family): TopicDefinition | undefined =>
    random.pickOptional([...live.values()]);

  function newDefinition(family: Family): TopicDefinition {
    family.ids += 1;
    // Two ids of a family may differ only in case.
    const word = random.pick(["id", "ID", "ïd", "id 😀"]);
    return {
      externalId: `${word}/${family.number}/${Math.ceil(family.ids / 2)}-${family.ids}`,
      ...createCombination(random, family),
    };
  }

  const define = (family: Family, definition: TopicDefinition, move: string): Step => {
    family.live.set(definition.externalId, definition);
    return { kind: "define", definition, partition: family.partition, move };
  };
  const retire = (family: Family, externalId: string, move: string): Step => {
    family.live.delete(externalId);
    return { kind: "retire", externalId, partition: family.partition, move };
  };
  const change = (family: Family, topic: TopicDefinition): TopicDefinition => ({
    externalId: topic.externalId,
    ...createCombination(random, family),
  });
  const transfer = (taker: TopicDefinition, giver: TopicDefinition): TopicDefinition => ({
    ...giver,
    externalId: taker.externalId,
  });

  function addTopic(): Step[] {
    const family = random.chance(0.5) ? createFamily() : pickFamily();
    const one = family.ids < maxIdsPerFamily ? family : createFamily();
    return [define(one, newDefinition(one), "new")];
  }

  const movesWithOne: Readonly<Record<string, (family: Family, topic: TopicDefinition) => Step[]>> = {
    same: (family, topic) => [define(family, topic, "same")],
    changed: (family, topic) => [define(family, change(family, topic), "changed")],
    retired: (family, { externalId }) => [retire(family, externalId, "retired")],
    again: (family, topic) => [
      retire(family, topic.externalId, "retired and created again"),
      define(family, random.chance(0.5) ? topic : change(family, topic), "retired and created again"),
    ],
    conflict: (family, topic) => [define(family, transfer(newDefinition(family), topic), "conflicting")],
    inherit: (family, topic) => [
      retire(family, topic.externalId, "inherited"),
      define(family, transfer(newDefinition(family), topic), "inherited"),
    ],
    unknown: ({ partition, number }) => [
      { kind: "retire", externalId: `never/${number}`, partition, move: "retired, but unknown" },
    ],
    garbage: ({ partition }, definition) => [{ kind: "garbage", definition, partition, move: "garbage" }],
  };

  /** Moves in which topics exchange their combinations. */
  const movesWithTwo = [
    (family: Family, one: TopicDefinition, other: TopicDefinition) => [
      define(family, change(family, one), "swapped"),
      define(family, transfer(other, one), "swapped"),
    ],
    (family: Family, one: TopicDefinition, other: TopicDefinition) => [
      define(family, transfer(other, one), "swapped too early"),
      define(family, change(family, one), "swapped too early"),
    ],
    (family: Family, one: TopicDefinition, other: TopicDefinition) => [
      define(family, change(family, one), "exchanged"),
      define(family, transfer(other, one), "exchanged"),
      define(family, transfer(one, other), "exchanged"),
    ],
  ] as const;

  const moves = [
    [30, "new"],
    [14, "same"],
    [14, "changed"],
    [8, "two"],
    [7, "conflict"],
    [7, "retired"],
    [4, "again"],
    [3, "inherit"],
    [1, "unknown"],
    [10, "garbage"],
  ] as const;

  function next(): Step[] {
    const move = random.pickWeighted(moves);
    if (move === "new") return addTopic();
    const family = pickFamily();
    const topic = pickTopic(family);
    if (topic === undefined) return addTopic();
    if (move !== "two") return movesWithOne[move]?.(family, topic) ?? [];
    const other = pickTopic(family);
    if (other === undefined || other === topic) return addTopic();
    return random.pick(movesWithTwo)(family, topic, other);
  }

  const httpTopics = Array.from({ length: httpTopicCount }, () => {
    const family = createFamily();
    const definition = newDefinition(family);
    family.live.set(definition.externalId, definition);
    return { definition, partition: family.partition };
  });

  return {
    httpTopics,
    /** Returns one to three announcements of the same partition, in order. */
    next,
  };
}

/** Unique to the family, but it may repeat within it. */
function createCombination(random: Random, { number }: Family): Omit<TopicDefinition, "externalId"> {
  const version = random.between(1, 40);
  const suffix = random.pick(["", "", "", " ", "é", "e\u0301", "😀", '"', "\\", "\n", "%26", "ß"]);
  return {
    name: `${random.pick(["Alarms", "alarms", "Tickets"])} #${number}${suffix}`,
    namespace: random.pick(["", "assurance", "Assurance", `of ${version}`]),
    headerQuery: random.pick(["", "eventType=AlarmCreateEvent", `eventType=Event${version}`]),
    contentQuery: random.pick([
      "",
      `alarm.severity=${version}`,
      `a.b=${version}&c=1,2,3`,
      `x=${"y".repeat(version * 20)}`,
    ]),
  };
}
