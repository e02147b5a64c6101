import type { Condition } from "../filter/filter.ts";
import { listOnPath, readText } from "../filter/match.ts";
import { createPathTree } from "../filter/path-tree.ts";
import {
  createSingleValue,
  createValueList,
  prepareForLists,
  type ListCondition,
  type ValueList,
} from "../filter/value-list.ts";

/** A condition that is not part of the keys, evaluated for the topics that a key has found. */
export interface Check {
  readonly condition: ListCondition;
  readonly checkedPath: CheckedPath;
}

/** A path that checks use, and the current event's values there. */
interface CheckedPath {
  readonly path: readonly string[];
  uses: number;
  /** The values within lists, once they are collected. */
  listTexts: string[];
  /** The event that `values` belong to. */
  eventNumber: number;
  /** Undefined if the event has nothing there that can match. */
  values: ValueList | undefined;
}

export interface Checks {
  add(condition: Condition): Check;
  remove(check: Check): void;
  /** Sets the current event. */
  read(event: unknown): void;
  /** Whether the current event satisfies a check. */
  passes(check: Check): boolean;
}

/**
 * Creates an empty set of checks. A path's values are read when its first check asks, and lists are walked
 * once for all paths, so that no check costs more than its own values.
 */
export function createChecks(): Checks {
  const tree = createPathTree<CheckedPath>();
  let event: unknown;
  let eventNumber = 0;
  let isCollected = false;
  /** The paths with collected values. */
  let collectedPaths: CheckedPath[] = [];

  function collectLists(): void {
    for (const checkedPath of collectedPaths) checkedPath.listTexts = [];
    collectedPaths = [];
    tree.walk(event, (checkedPath, text) => {
      if (checkedPath.listTexts.length === 0) collectedPaths.push(checkedPath);
      checkedPath.listTexts.push(text);
    });
    isCollected = true;
  }

  function readValues(checkedPath: CheckedPath): ValueList | undefined {
    const value = readText(event, checkedPath.path);
    if (value === undefined) return undefined;
    if (value !== listOnPath) return createSingleValue(value);
    if (!isCollected) collectLists();
    return checkedPath.listTexts.length === 0 ? undefined : createValueList(checkedPath.listTexts);
  }

  return {
    add(condition) {
      const { path } = condition;
      const checkedPath = tree.getOrAdd(path, () => ({
        path,
        uses: 0,
        listTexts: [],
        eventNumber: 0,
        values: undefined,
      }));
      checkedPath.uses += 1;
      return { condition: prepareForLists(condition), checkedPath };
    },
    remove({ checkedPath }) {
      checkedPath.uses -= 1;
      if (checkedPath.uses === 0) tree.delete(checkedPath.path);
    },
    read(nextEvent) {
      event = nextEvent;
      eventNumber += 1;
      isCollected = false;
    },
    passes({ condition, checkedPath }) {
      if (checkedPath.eventNumber !== eventNumber) {
        checkedPath.eventNumber = eventNumber;
        checkedPath.values = readValues(checkedPath);
      }
      return checkedPath.values !== undefined && checkedPath.values.some(condition);
    },
  };
}
