import type { Condition } from "./filter.ts";
import { flattenArrays, isScalar, type Scalar } from "./match.ts";
import { LongNumber } from "./numbers.ts";
import type { EventRecord } from "./record.ts";

/** Where a path leads: into the event or into its record. */
export type Place = Pick<Condition, "path" | "ofRecord">;

type Visitor<T> = (entry: T, value: Scalar | undefined) => void;

interface Node<T> {
  readonly name: string;
  /** Undefined at most ends of paths: an empty map takes 200 bytes. */
  children: Map<string, Node<T>> | undefined;
  entry: T | undefined;
  /** Whether every object inherits a member of this name. */
  readonly inherited: boolean;
}

/** Nodes with more children look the event's members up in the tree instead of the reverse. */
const maxNamesLookedUp = 32;

/**
 * A tree of entries by path, so that an event is walked once for all of them. A walk takes at most 32 steps
 * per object, list element and value of the event, however many paths there are.
 */
export class PathTree<T> {
  readonly #ofEvent = createNode<T>("");
  readonly #ofRecord = createNode<T>("");

  getOrAdd(place: Place, make: () => T): T {
    let node = this.#getRoot(place);
    for (const name of place.path) {
      let child = node.children?.get(name);
      if (child === undefined) (node.children ??= new Map()).set(name, (child = createNode(name)));
      node = child;
    }
    return (node.entry ??= make());
  }

  get(place: Place): T | undefined {
    return this.#findNodes(place)?.at(-1)?.entry;
  }

  delete(place: Place): void {
    const nodes = this.#findNodes(place);
    const last = nodes?.at(-1);
    if (nodes === undefined || last === undefined) return;
    last.entry = undefined;
    prune(nodes);
  }

  /**
   * Calls back with every value that the event has at the path of an entry: undefined for an object, and
   * nothing for null.
   */
  walk(event: unknown, record: EventRecord | undefined, onValue: Visitor<T>): void {
    // An array has no members itself.
    if (!Array.isArray(event)) visit(this.#ofEvent, event, onValue);
    if (record !== undefined && this.#ofRecord.children !== undefined) visit(this.#ofRecord, record, onValue);
  }

  #getRoot(place: Place): Node<T> {
    return place.ofRecord ? this.#ofRecord : this.#ofEvent;
  }

  /** Returns the nodes from the root to a path; undefined if there is no such path. */
  #findNodes(place: Place): Node<T>[] | undefined {
    const nodes = [this.#getRoot(place)];
    for (const name of place.path) {
      const child = nodes.at(-1)?.children?.get(name);
      if (child === undefined) return undefined;
      nodes.push(child);
    }
    return nodes;
  }
}

const createNode = <T>(name: string): Node<T> => ({
  name,
  children: undefined,
  entry: undefined,
  inherited: name in Object.prototype,
});

/** Removes the nodes that are no longer needed, the last first. */
function prune<T>(nodes: readonly Node<T>[]): void {
  for (let at = nodes.length - 1; at > 0; at -= 1) {
    const node = nodes[at];
    if (node === undefined || node.children !== undefined || node.entry !== undefined) return;
    const parent = nodes[at - 1];
    parent?.children?.delete(node.name);
    if (parent?.children?.size === 0) parent.children = undefined;
  }
}

function visit<T>(node: Node<T>, value: unknown, onValue: Visitor<T>): void {
  if (typeof value !== "object") {
    if (node.entry !== undefined && isScalar(value)) onValue(node.entry, value);
  } else if (Array.isArray(value)) for (const element of flattenArrays(value)) visit(node, element, onValue);
  else if (value instanceof LongNumber) {
    if (node.entry !== undefined) onValue(node.entry, value);
  } else if (value !== null) {
    if (node.entry !== undefined) onValue(node.entry, undefined);
    const { children } = node;
    if (children === undefined) return;
    if (children.size > maxNamesLookedUp) visitMembers(children, value, onValue);
    else visitNames(children, value as Readonly<Record<string, unknown>>, onValue);
  }
}

type Children<T> = ReadonlyMap<string, Node<T>>;

function visitNames<T>(
  children: Children<T>,
  object: Readonly<Record<string, unknown>>,
  onValue: Visitor<T>,
): void {
  for (const child of children.values()) {
    if (child.inherited && !Object.hasOwn(object, child.name)) continue;
    const value = object[child.name];
    if (value !== undefined) visit(child, value, onValue);
  }
}

function visitMembers<T>(children: Children<T>, object: object, onValue: Visitor<T>): void {
  for (const name of Object.keys(object)) {
    const child = children.get(name);
    if (child !== undefined) visit(child, (object as Readonly<Record<string, unknown>>)[name], onValue);
  }
}
