import { readFilters, type FilterTexts, type RootedCondition } from "../filter/topic-filters.ts";
import { createChecks, type Check } from "./checks.ts";
import type { Group } from "./group.ts";
import { createGroups } from "./groups.ts";
import { combinations, createPlan } from "./plan.ts";
import { createReading } from "./reading.ts";
import { createSlots } from "./slots.ts";

/** Tells which topics an event belongs to. */
export interface Picker {
  /** Adds a topic or replaces it. Throws FilterSyntaxError; nothing has changed then. */
  set(externalId: string, filters: FilterTexts): void;
  /** Gives whether it was there. */
  delete(externalId: string): boolean;
  /** The external ids of the topics that an event belongs to, each once, in no particular order. */
  pick(event: unknown): string[];
  readonly size: number;
}

const noChecks: readonly Check[] = [];

/** A topic with conditions, and where it is kept. */
interface Keyed {
  readonly externalId: string;
  readonly number: number;
  readonly group: Group;
  /** Its first entry in the group. */
  readonly entry: number;
  readonly checks: readonly Check[];
  /** The number of the last event that it was found for: an event may find it by several keys. */
  seen: number;
}

/**
 * Makes an empty picker. Every topic is found by a key: the values of all its equalities, one alternative of each, so a
 * topic may have several keys. Topics whose keys are made of the same paths share a hash table. An event is walked once
 * along the paths in use; every table that it has all paths for is asked once. So the cost is that of the tables and the
 * matches, not of the topics. Ranges and negations are checked for the topics that a key has found (ARCHITECTURE.md).
 */
export function createPicker(): Picker {
  /** By external id; a number is the place of a topic without conditions. */
  const homes = new Map<string, Keyed | number>();
  /** The topics without conditions, which every event belongs to. */
  const unconditional: string[] = [];
  /** By number, which is what the groups' entries say. */
  const topics: (Keyed | undefined)[] = [];
  const free: number[] = [];
  const slots = createSlots();
  const groups = createGroups();
  const checks = createChecks();
  const event = createReading();

  function add(externalId: string, conditions: readonly RootedCondition[]): void {
    if (conditions.length === 0) {
      homes.set(externalId, unconditional.push(externalId) - 1);
      return;
    }
    const plan = createPlan(conditions);
    const key = plan.parts
      .map(({ path, kind, values }) => ({ slot: slots.use(path, kind), values }))
      .sort((a, b) => a.slot.number - b.slot.number);
    const group = groups.of(key.map(({ slot }) => slot));
    const number = free.pop() ?? topics.length;
    let entry = 0;
    for (const texts of combinations(key.map(({ values }) => values))) {
      const ids = key.map(({ slot }, at) => slot.values.use(texts[at] ?? ""));
      entry = group.add(ids, number, entry);
    }
    const checked =
      plan.checks.length === 0 ? noChecks : plan.checks.map((condition) => checks.add(condition));
    const topic = { externalId, number, group, entry, checks: checked, seen: 0 };
    topics[number] = topic;
    homes.set(externalId, topic);
  }

  function remove({ number, group, entry, checks: checked }: Keyed): void {
    group.remove(entry, (key) => {
      for (const [at, id] of key.entries()) group.slots[at]?.values.release(id);
    });
    for (const slot of group.slots) slots.release(slot);
    for (const check of checked) checks.remove(check);
    topics[number] = undefined;
    free.push(number);
    if (group.isEmpty()) groups.forget(group);
  }

  function removeUnconditional(place: number): void {
    const last = unconditional.pop();
    if (last === undefined || place === unconditional.length) return;
    unconditional[place] = last;
    homes.set(last, place);
  }

  function unset(externalId: string): boolean {
    const home = homes.get(externalId);
    if (home === undefined) return false;
    homes.delete(externalId);
    if (typeof home === "number") removeUnconditional(home);
    else remove(home);
    return true;
  }

  return {
    set(externalId, filters) {
      const conditions = readFilters(filters);
      unset(externalId);
      add(externalId, conditions);
    },
    delete: unset,
    pick(given) {
      const picked = unconditional.slice();
      event.read(slots, given);
      checks.read(given);
      groups.ask(event, (number) => {
        const topic = topics[number];
        if (topic === undefined || (event.hasSeveral() && topic.seen === event.number())) return;
        topic.seen = event.number();
        for (const check of topic.checks) if (!checks.passes(check)) return;
        picked.push(topic.externalId);
      });
      return picked;
    },
    get size() {
      return homes.size;
    },
  };
}
