import { LRUCache } from "lru-cache";

import { Turns } from "@topicsync/lib/concurrency/turns";
import {
  compareTexts,
  areImplied,
  TopicConditions,
  printCondition,
  readFilters,
  tryReadConditions,
  type FilterTexts,
} from "@topicsync/filters";
import { createPicker } from "@topicsync/filters/picker";
import {
  maxListedTopics,
  type ContainedTopic,
  type Finding,
  type FindingKind,
  type FindingOfOne,
  type SameTopics,
} from "./finding.ts";

interface AnalyzedTopic extends FilterTexts {
  readonly externalId: string;
}

/** Topics with the same conditions. */
interface Group {
  readonly externalIds: string[];
  readonly filters: FilterTexts;
  /** Another group with the same events. */
  sameAs: Group | undefined;
}

export interface AnalysisOptions {
  readonly kinds: readonly FindingKind[];
  /** Finds only what concerns this active topic. */
  readonly about?: { readonly externalId: string; readonly conditions: TopicConditions } | undefined;
  /** Called with how many of the different filters were compared. */
  readonly onCompared: (count: number, total: number) => void;
}

/** The number of parsed filters that are kept. */
const maxParsed = 10_000;

/**
 * Finds topics whose filters may not be what was intended. Topics are not compared pair by pair: an event of
 * a topic is an event of every topic that contains it, so these are among the topics that are picked for it.
 */
export class TopicAnalysis {
  readonly #given: AsyncIterable<AnalyzedTopic>;
  readonly #options: AnalysisOptions;
  readonly #kinds: ReadonlySet<FindingKind>;
  readonly #picker = createPicker();
  /** The picker's ids are indexes into these. */
  readonly #groups: Group[] = [];
  readonly #parsed = new LRUCache<Group, TopicConditions>({ max: maxParsed });
  /** How many topics were read. */
  topics = 0;
  /** Those that were skipped because their filters are invalid. */
  invalid = 0;
  /** Those for which no event was found, so that they were not compared. */
  uncompared = 0;

  constructor(topics: AsyncIterable<AnalyzedTopic>, options: AnalysisOptions) {
    this.#given = topics;
    this.#options = options;
    this.#kinds = new Set(options.kinds);
  }

  /** Throws what the topics and `onCompared` throw. */
  async *run(): AsyncGenerator<Finding> {
    yield* this.#readTopics();
    if (!this.#kinds.has("contained") && !this.#kinds.has("same")) return;
    if (!this.#groups.some(({ externalIds }) => this.#concerns(externalIds))) return;
    const turns = new Turns();
    for (const [at, group] of this.#groups.entries()) {
      if (turns.isOver()) await turns.next();
      this.#options.onCompared(at, this.#groups.length);
      const finding = this.#compare(group, String(at));
      if (finding === undefined || !this.#kinds.has("contained")) continue;
      for (const externalId of group.externalIds)
        if (this.#concerns([externalId, ...finding.in])) yield { ...finding, externalId };
    }
    if (this.#kinds.has("same")) yield* this.#findSame();
  }

  async *#readTopics(): AsyncGenerator<FindingOfOne> {
    const known = new Map<string, Group>();
    for await (const { externalId, headerQuery, contentQuery } of this.#given) {
      this.topics += 1;
      const filters = { headerQuery, contentQuery };
      const conditions = tryReadConditions(filters);
      if (conditions === undefined) this.invalid += 1;
      const finding = conditions && examine(externalId, conditions);
      if (finding !== undefined && this.#kinds.has(finding.kind) && this.#concerns([externalId]))
        yield finding;
      if (conditions === undefined || finding?.kind === "everything" || finding?.kind === "impossible")
        continue;
      if (!this.#isRelated(conditions)) continue;
      const key = createKey(conditions);
      const group = known.get(key);
      if (group === undefined) known.set(key, this.#addGroup(externalId, filters));
      else group.externalIds.push(externalId);
    }
  }

  #concerns(externalIds: readonly string[]): boolean {
    const { about } = this.#options;
    return about === undefined || externalIds.includes(about.externalId);
  }

  #isRelated(conditions: TopicConditions): boolean {
    const about = this.#options.about?.conditions;
    return about === undefined || areImplied(conditions, about) || areImplied(about, conditions);
  }

  #addGroup(externalId: string, filters: FilterTexts): Group {
    const group = { externalIds: [externalId], filters, sameAs: undefined };
    this.#picker.set(String(this.#groups.push(group) - 1), filters);
    return group;
  }

  #read(group: Group): TopicConditions {
    let conditions = this.#parsed.get(group);
    if (conditions === undefined)
      this.#parsed.set(group, (conditions = new TopicConditions(readFilters(group.filters))));
    return conditions;
  }

  /** Finds what contains a group, and links it with a group that has the same events. */
  #compare(group: Group, id: string): ContainedTopic | undefined {
    const conditions = new TopicConditions(readFilters(group.filters));
    const candidates = this.#findCandidates(conditions);
    if (candidates === undefined) this.uncompared += group.externalIds.length;
    const containing: string[] = [];
    for (const candidate of candidates ?? []) {
      const other = this.#groups[Number(candidate)];
      if (candidate === id || other === undefined) continue;
      const otherConditions = this.#read(other);
      if (!areImplied(conditions, otherConditions)) continue;
      if (areImplied(otherConditions, conditions)) linkGroups(group, other);
      else containing.push(...other.externalIds);
    }
    const [externalId] = group.externalIds;
    const isAll = this.#concerns(group.externalIds);
    const shown = isAll ? containing : containing.filter((id) => this.#concerns([id]));
    if (externalId === undefined || shown.length === 0) return undefined;
    return { kind: "contained", externalId, in: listFirst(shown), total: shown.length };
  }

  /** Returns the ids of groups that may contain all events that meet some conditions. */
  #findCandidates(conditions: TopicConditions): readonly string[] | undefined {
    const witness = conditions.createWitness();
    if (witness === undefined) return undefined;
    const picked = this.#picker.pick(witness.event, witness.record);
    if (picked.length < 2 || !conditions.all.some(({ condition }) => condition.values.length > 1))
      return picked;
    const second = conditions.createWitness({ fromEnd: true });
    if (second === undefined) return picked;
    const both = new Set(this.#picker.pick(second.event, second.record));
    return picked.filter((id) => both.has(id));
  }

  *#findSame(): Generator<SameTopics> {
    const linked = Map.groupBy(
      this.#groups.filter(({ sameAs }) => sameAs !== undefined),
      findFirst,
    );
    for (const group of this.#groups) {
      if (group.sameAs !== undefined) continue;
      const all = [group, ...(linked.get(group) ?? [])].flatMap(({ externalIds }) => externalIds);
      if (all.length > 1 && this.#concerns(all))
        yield { kind: "same", externalIds: listFirst(all), total: all.length };
    }
  }
}

/** Finds what one topic's filters alone show. */
function examine(externalId: string, conditions: TopicConditions): FindingOfOne | undefined {
  if (conditions.all.length === 0) return { kind: "everything", externalId };
  const impossible = conditions.findContradiction();
  const contradiction = impossible ?? conditions.findContradiction({ withoutLists: true });
  if (contradiction === undefined) return undefined;
  const kind = impossible === undefined ? "list-only" : "impossible";
  return { kind, externalId, conditions: contradiction.map(printCondition) };
}

/** The same for conditions and values in any order. */
const createKey = ({ all }: TopicConditions): string =>
  all
    .map(({ condition: { path, ofRecord, operator, values } }) =>
      JSON.stringify([ofRecord, path, operator, values.length > 1 ? [...new Set(values)].sort() : values]),
    )
    .sort()
    .join("");

function findFirst(group: Group): Group {
  let first = group;
  while (first.sameAs !== undefined) first = first.sameAs;
  return first;
}

function linkGroups(one: Group, other: Group): void {
  const [first, second] = [findFirst(one), findFirst(other)];
  if (first !== second) second.sameAs = first;
}

const listFirst = (externalIds: readonly string[]): string[] =>
  externalIds.toSorted(compareTexts).slice(0, maxListedTopics);
