import { elements, toText } from "./match.ts";

/**
 * Entries by path, as a tree, so that an event is walked once for all of them. A walk costs at most 32 steps for each object,
 * list element and value of the event, however many paths there are.
 */
export interface PathTree<T> {
  /** The entry at a path; `make` creates one where there is none. */
  getOrAdd(path: readonly string[], make: () => T): T;
  get(path: readonly string[]): T | undefined;
  delete(path: readonly string[]): void;
  /** Calls back with every value (as a text) that the event has at a path of an entry. */
  walk(event: unknown, found: Visitor<T>): void;
}

type Visitor<T> = (entry: T, text: string) => void;

interface Node<T> {
  readonly name: string;
  readonly children: Map<string, Node<T>>;
  entry: T | undefined;
  /** Every object has a member of this name, its own or not. */
  readonly inherited: boolean;
}

/** Above this many names of one node, the event's members are looked up in the tree and not the other way round. */
const maxNamesLookedUp = 32;

/** An empty tree. */
export function createPathTree<T>(): PathTree<T> {
  const root = newNode<T>("");

  /** The nodes from the root to a path; undefined when there is no such node. */
  function nodesTo(path: readonly string[]): Node<T>[] | undefined {
    const nodes = [root];
    for (const name of path) {
      const child = nodes.at(-1)?.children.get(name);
      if (child === undefined) return undefined;
      nodes.push(child);
    }
    return nodes;
  }

  return {
    getOrAdd(path, make) {
      let node = root;
      for (const name of path) {
        let child = node.children.get(name);
        if (child === undefined) node.children.set(name, (child = newNode(name)));
        node = child;
      }
      return (node.entry ??= make());
    },
    get: (path) => nodesTo(path)?.at(-1)?.entry,
    delete(path) {
      const nodes = nodesTo(path);
      const last = nodes?.at(-1);
      if (nodes === undefined || last === undefined) return;
      last.entry = undefined;
      prune(nodes);
    },
    walk(event, found) {
      // A list of events is no event, and has no members.
      if (!Array.isArray(event)) visit(root, event, found);
    },
  };
}

const newNode = <T>(name: string): Node<T> => ({
  name,
  children: new Map(),
  entry: undefined,
  inherited: name in Object.prototype,
});

/** Removes the nodes that lead nowhere any more, the last first. */
function prune<T>(nodes: readonly Node<T>[]): void {
  for (let at = nodes.length - 1; at > 0; at -= 1) {
    const node = nodes[at];
    if (node === undefined || node.children.size > 0 || node.entry !== undefined) return;
    nodes[at - 1]?.children.delete(node.name);
  }
}

function visit<T>(node: Node<T>, value: unknown, found: Visitor<T>): void {
  if (typeof value === "object") {
    if (value === null) return;
    if (Array.isArray(value)) for (const element of elements(value)) visit(node, element, found);
    else if (node.children.size > maxNamesLookedUp) visitMembers(node, value, found);
    else visitNames(node, value as Readonly<Record<string, unknown>>, found);
    return;
  }
  if (node.entry === undefined) return;
  const text = toText(value);
  if (text !== undefined) found(node.entry, text);
}

function visitNames<T>(node: Node<T>, object: Readonly<Record<string, unknown>>, found: Visitor<T>): void {
  for (const child of node.children.values()) {
    if (child.inherited && !Object.hasOwn(object, child.name)) continue;
    const value = object[child.name];
    if (value !== undefined) visit(child, value, found);
  }
}

function visitMembers<T>(node: Node<T>, object: object, found: Visitor<T>): void {
  for (const [name, value] of Object.entries(object)) {
    const child = node.children.get(name);
    if (child !== undefined) visit(child, value, found);
  }
}
