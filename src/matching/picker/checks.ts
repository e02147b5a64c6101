import type { Condition } from "../filter/filter.ts";
import { listOnPath, valueAt } from "../filter/match.ts";
import { createPathTree } from "../filter/path-tree.ts";
import {
  createSingleValue,
  createValueList,
  prepareForLists,
  type ListCondition,
  type ValueList,
} from "../filter/value-list.ts";

/** A condition that is no part of the keys: it is looked at once a key has been found. */
export interface Check {
  readonly condition: ListCondition;
  readonly at: CheckedPath;
}

/** A path that is checked, and what the event at hand has there. */
interface CheckedPath {
  readonly path: readonly string[];
  /** How many checks look here. */
  uses: number;
  /** The values of lists, once they are collected. */
  collected: string[];
  /** The event that `values` are of. */
  event: number;
  /** Undefined when there is nothing that can match. */
  values: ValueList | undefined;
}

/** All checks. */
export interface Checks {
  add(condition: Condition): Check;
  remove(check: Check): void;
  /** Sets the event that is checked from now on. */
  read(event: unknown): void;
  /** Whether the event satisfies a check. */
  passes(check: Check): boolean;
}

/**
 * No checks yet. What an event has at a path is found out once, when the first check asks; lists are walked once for all
 * paths. So no check costs more than its own values.
 */
export function createChecks(): Checks {
  const tree = createPathTree<CheckedPath>();
  let event: unknown;
  let number = 0;
  let isCollected = false;
  /** The paths that values were collected for. */
  let touched: CheckedPath[] = [];

  function collect(): void {
    for (const at of touched) at.collected = [];
    touched = [];
    tree.walk(event, (at, text) => {
      if (at.collected.length === 0) touched.push(at);
      at.collected.push(text);
    });
    isCollected = true;
  }

  function readValues(at: CheckedPath): ValueList | undefined {
    const value = valueAt(event, at.path);
    if (value === undefined) return undefined;
    if (value !== listOnPath) return createSingleValue(value);
    if (!isCollected) collect();
    return at.collected.length === 0 ? undefined : createValueList(at.collected);
  }

  return {
    add(condition) {
      const { path } = condition;
      const at = tree.getOrAdd(path, () => ({
        ...{ path, uses: 0, collected: [], event: 0 },
        values: undefined,
      }));
      at.uses += 1;
      return { condition: prepareForLists(condition), at };
    },
    remove({ at }) {
      at.uses -= 1;
      if (at.uses === 0) tree.delete(at.path);
    },
    read(given) {
      event = given;
      number += 1;
      isCollected = false;
    },
    passes({ condition, at }) {
      if (at.event !== number) {
        at.event = number;
        at.values = readValues(at);
      }
      return at.values !== undefined && at.values.some(condition);
    },
  };
}
