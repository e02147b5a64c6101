import type { TopicDefinition } from "../../../src/topics/topic.ts";
import type { Random } from "./random.ts";

/** What an announcement is to say, before it is put into words. */
export type Saying = (
  | { readonly kind: "define"; readonly definition: TopicDefinition }
  | { readonly kind: "retire"; readonly externalId: string }
  | { readonly kind: "garbage"; readonly definition: TopicDefinition }
) & {
  readonly partition: number;
  /** For people: which move it belongs to. */
  readonly move: string;
};

/** Topics that may fight over external ids and combinations: all of them are announced in one partition. */
interface Family {
  readonly number: number;
  readonly partition: number;
  ids: number;
  /** What the announcements so far wanted to be there. It only guides the choice of moves: refusals are not counted in. */
  readonly live: Map<string, TopicDefinition>;
}

export interface StoryOptions {
  readonly partitions: number;
  /** How many topics are created over HTTP before the first announcement. */
  readonly byHand: number;
}

const maxIdsPerFamily = 8;

/** A story of topics: it never ends, and it is the same for the same random numbers. */
export function createStory(random: Random, { partitions, byHand }: StoryOptions) {
  const families: Family[] = [];

  function found(): Family {
    const family = {
      number: families.length,
      partition: random.between(0, partitions - 1),
      ids: 0,
      live: new Map(),
    };
    families.push(family);
    return family;
  }

  /** Mostly one of the last ones, so that a batch has much to do with itself. */
  function someFamily(): Family {
    const from = random.chance(0.6) ? Math.max(0, families.length - 60) : 0;
    return families[random.between(from, families.length - 1)] ?? found();
  }

  const someTopic = ({ live }: Family): TopicDefinition | undefined => random.pickAny([...live.values()]);

  function newDefinition(family: Family): TopicDefinition {
    family.ids += 1;
    // Two ids of a family may differ in nothing but case.
    const word = random.pick(["id", "ID", "ïd", "id 😀"]);
    return {
      externalId: `${word}/${family.number}/${Math.ceil(family.ids / 2)}-${family.ids}`,
      ...combination(random, family),
    };
  }

  const define = (family: Family, definition: TopicDefinition, move: string): Saying => {
    family.live.set(definition.externalId, definition);
    return { kind: "define", definition, partition: family.partition, move };
  };
  const retire = (family: Family, externalId: string, move: string): Saying => {
    family.live.delete(externalId);
    return { kind: "retire", externalId, partition: family.partition, move };
  };
  const changed = (family: Family, topic: TopicDefinition): TopicDefinition => ({
    externalId: topic.externalId,
    ...combination(random, family),
  });
  const takes = (taker: TopicDefinition, giver: TopicDefinition): TopicDefinition => ({
    ...giver,
    externalId: taker.externalId,
  });

  function startAnother(): Saying[] {
    const family = random.chance(0.5) ? found() : someFamily();
    const one = family.ids < maxIdsPerFamily ? family : found();
    return [define(one, newDefinition(one), "new")];
  }

  /** Moves about a topic that is there; undefined when the family has none. */
  const aboutOne: Readonly<Record<string, (family: Family, topic: TopicDefinition) => Saying[]>> = {
    same: (family, topic) => [define(family, topic, "same")],
    changed: (family, topic) => [define(family, changed(family, topic), "changed")],
    retired: (family, { externalId }) => [retire(family, externalId, "retired")],
    again: (family, topic) => [
      retire(family, topic.externalId, "retired and created again"),
      define(family, random.chance(0.5) ? topic : changed(family, topic), "retired and created again"),
    ],
    conflict: (family, topic) => [define(family, takes(newDefinition(family), topic), "conflicting")],
    inherit: (family, topic) => [
      retire(family, topic.externalId, "inherited"),
      define(family, takes(newDefinition(family), topic), "inherited"),
    ],
    unknown: ({ partition, number }) => [
      { kind: "retire", externalId: `never/${number}`, partition, move: "retired, but unknown" },
    ],
    garbage: ({ partition }, definition) => [{ kind: "garbage", definition, partition, move: "garbage" }],
  };

  /** Moves in which one topic takes what another has. */
  const aboutTwo = [
    (family: Family, one: TopicDefinition, other: TopicDefinition) => [
      define(family, changed(family, one), "swapped"),
      define(family, takes(other, one), "swapped"),
    ],
    (family: Family, one: TopicDefinition, other: TopicDefinition) => [
      define(family, takes(other, one), "swapped too early"),
      define(family, changed(family, one), "swapped too early"),
    ],
    (family: Family, one: TopicDefinition, other: TopicDefinition) => [
      define(family, changed(family, one), "exchanged"),
      define(family, takes(other, one), "exchanged"),
      define(family, takes(one, other), "exchanged"),
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

  function next(): Saying[] {
    const move = random.weighted(moves);
    if (move === "new") return startAnother();
    const family = someFamily();
    const topic = someTopic(family);
    if (topic === undefined) return startAnother();
    if (move !== "two") return aboutOne[move]?.(family, topic) ?? [];
    const other = someTopic(family);
    if (other === undefined || other === topic) return startAnother();
    return random.pick(aboutTwo)(family, topic, other);
  }

  const handMade = Array.from({ length: byHand }, () => {
    const family = found();
    const definition = newDefinition(family);
    family.live.set(definition.externalId, definition);
    return { definition, partition: family.partition };
  });

  return {
    /** The topics to create over HTTP, and the partition where they may be announced. */
    handMade,
    /** What happens next: one to three announcements for the same partition, in this order. */
    next,
  };
}

/** A combination that no other family has, now and then one that this family has had before. */
function combination(random: Random, { number }: Family): Omit<TopicDefinition, "externalId"> {
  const version = random.between(1, 40);
  const spice = random.pick(["", "", "", " ", "é", "e\u0301", "😀", '"', "\\", "\n", "%26", "ß"]);
  return {
    name: `${random.pick(["Alarms", "alarms", "Tickets"])} #${number}${spice}`,
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
