import { toComparable, isNumber, isScalar, printScalar, type Scalar } from "@topicsync/filters";
import { structureLimits as limits, type KnownPath, type PathStatistics } from "./event-type.ts";
import { PathNode, toStatistics, walk, type Counted } from "./path-node.ts";

/** Stands for any name. */
export const anyName = "*";

/** Paths that structures may still add: they share a limit. */
export interface Room {
  paths: number;
}

/**
 * The paths of the events of a type, with counts. Invariant: it has at most `pathsPerType` paths, whatever is
 * added. A member with more than `namesPerMember` names below it has the single name `*`.
 */
export class EventStructure {
  readonly #root = new PathNode(0);
  readonly #room: Room;
  #size = 0;
  #valueCharacters = 0;
  #isComplete = true;
  #eventNumber = 0;
  #visitsLeft = 0;

  constructor(room: Room) {
    this.#room = room;
  }

  /** The number of paths. */
  get size(): number {
    return this.#size;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Counts the paths of an event. */
  learn(event: object): void {
    this.#eventNumber += 1;
    this.#visitsLeft = limits.valuesVisited;
    this.#visitMembers(this.#root, event, 1);
  }

  /** The paths that were seen, each after the path of its parent. */
  list(): PathStatistics[] {
    return [...walk(this.#root, [])].map(toStatistics);
  }

  /** See EventType. */
  find(path: readonly string[]): KnownPath | "open" | undefined {
    if (this.#size === 0) return "open";
    let node = this.#root;
    for (const name of path) {
      const child = node.children?.get(name);
      if (child === undefined || name === anyName)
        return node.children?.has(anyName) === true ? "open" : undefined;
      node = child;
    }
    return { names: [...(node.children?.keys() ?? [])], statistics: toStatistics({ node, path }) };
  }

  #visitMembers(node: PathNode, value: object, level: number): void {
    if (level > limits.levels) {
      this.#isComplete = false;
      return;
    }
    let visited = 0;
    for (const name of Object.keys(value)) {
      if (this.#visitsLeft <= 0) {
        this.#isComplete = false;
        return;
      }
      visited += 1;
      if (node.isMap && visited > limits.elementsVisited) return;
      const child = this.#getChild(node, name);
      if (child !== undefined) this.#visit(child, (value as Record<string, unknown>)[name], level);
    }
  }

  #visit(node: PathNode, value: unknown, level: number): void {
    this.#visitsLeft -= 1;
    if (node.lastEvent !== this.#eventNumber) {
      node.lastEvent = this.#eventNumber;
      node.lastCounted = [];
      node.events += 1;
    }
    if (isScalar(value)) this.#visitScalar(node, value);
    else if (value === null) node.count("null");
    else if (Array.isArray(value)) {
      node.count("list");
      this.#visitElements(node, value, level + 1);
    } else if (typeof value === "object") {
      node.count("object");
      this.#visitMembers(node, value, level + 1);
    }
  }

  #visitElements(node: PathNode, list: readonly unknown[], level: number): void {
    if (level > limits.levels) this.#isComplete = false;
    else
      for (let at = 0; at < list.length && at < limits.elementsVisited && this.#visitsLeft > 0; at += 1)
        this.#visit(node, list[at], level);
  }

  #visitScalar(node: PathNode, value: Scalar): void {
    if (typeof value === "string") {
      node.count("string");
      const first = value.charCodeAt(0);
      // Numbers and times begin with a digit or a minus sign.
      if ((first >= 0x30 && first <= 0x39) || first === 0x2d) {
        const { number, instant } = toComparable(value.slice(0, limits.valueLength));
        if (number !== undefined) node.count("numberText");
        if (instant !== undefined) node.count("timeText");
      }
    } else node.count(isNumber(value) ? "number" : "boolean");
    if (node.hasManyValues) return;
    node.valueCount += 1;
    this.#addValue(node, printScalar(value));
  }

  #addValue(node: PathNode, value: string): void {
    const values = (node.values ??= new Set());
    if (values.has(value)) return;
    this.#valueCharacters += value.length;
    if (
      value.length > limits.valueLength ||
      values.size === limits.valuesPerPath ||
      this.#valueCharacters > limits.valueCharactersPerType
    )
      this.#dropValues(node, value.length);
    else values.add(value);
  }

  #dropValues(node: PathNode, extra = 0): void {
    this.#valueCharacters -= extra;
    for (const { length } of node.values ?? []) this.#valueCharacters -= length;
    node.values = undefined;
    node.hasManyValues = true;
  }

  /** Returns the member of a path; undefined if there is no room for it. */
  #getChild(node: PathNode, name: string): PathNode | undefined {
    const known = node.children?.get(name);
    if (known !== undefined) return known;
    if (name !== anyName) {
      if (node.isMap || isUnusualName(name)) return this.#getChild(node, anyName);
      if (node.children !== undefined && node.children.size >= limits.namesPerMember) {
        this.#joinChildren(node);
        return this.#getChild(node, anyName);
      }
    }
    const length = node.length + name.length + 1;
    if (this.#size >= limits.pathsPerType || this.#room.paths <= 0 || length > limits.pathLength) {
      this.#isComplete = false;
      return undefined;
    }
    const child = new PathNode(length);
    (node.children ??= new Map()).set(name, child);
    this.#changeSize(1);
    return child;
  }

  #changeSize(by: number): void {
    this.#size += by;
    this.#room.paths -= by;
  }

  /** Replaces the names below a path by `*`. */
  #joinChildren(node: PathNode): void {
    const former = [...(node.children ?? [])];
    const paths = former.flatMap(([name, child]) => [...walk(child, [name])]);
    node.isMap = true;
    node.children = undefined;
    this.#changeSize(-paths.length);
    for (const { node: source, path } of paths) {
      let target: PathNode | undefined = node;
      for (const name of [anyName, ...path.slice(1)]) target &&= this.#getChild(target, name);
      if (target !== undefined) this.#joinNode(target, source);
    }
  }

  /** The names occur in the same events, so the larger count is the better estimate. */
  #joinNode(target: PathNode, source: PathNode): void {
    target.events = Math.max(target.events, source.events);
    target.lastEvent = Math.max(target.lastEvent, source.lastEvent);
    target.lastCounted = [...target.lastCounted, ...source.lastCounted];
    target.isMap ||= source.isMap;
    for (const what of Object.keys(source.counts) as Counted[])
      target.counts[what] = Math.max(target.counts[what], source.counts[what]);
    target.valueCount += source.valueCount;
    if (source.hasManyValues) this.#dropValues(target);
    for (const value of source.values ?? []) if (!target.hasManyValues) this.#addValue(target, value);
  }
}

/** Names that are data, such as addresses of mail, are not stored. */
const isUnusualName = (name: string): boolean => name.length > limits.nameLength || name.lastIndexOf("@") > 0;
