import { elements, textOf } from "../filter/match.ts";
import { anyValue, createValues, type Values } from "./values.ts";

/** What a slot tells of an event: which value stands at a path, or that there is one at all. */
export type SlotKind = "equal" | "present";

/** A path that keys are made of. */
export interface Slot {
  readonly number: number;
  readonly path: readonly string[];
  readonly kind: SlotKind;
  readonly values: Values;
}

/** The paths that keys are made of, as a tree, so that an event is walked once. */
export interface Slots {
  /** The slot of a path; counts how often it is in use. */
  use(path: readonly string[], kind: SlotKind): Slot;
  release(slot: Slot): void;
  /** Tells, for every slot that an event has a known value for, its number and the value's. */
  walk(event: unknown, found: (slot: number, value: number) => void): void;
}

interface Node {
  readonly name: string;
  readonly children: Map<string, Node>;
  readonly slots: Partial<Record<SlotKind, Slot & { uses: number }>>;
  /** Every object has a member of this name, its own or not. */
  readonly inherited: boolean;
}

/** Above this many names of one node, the event's members are looked up in the tree and not the other way round. */
const manyNames = 32;

/** No paths yet. */
export function createSlots(): Slots {
  const root = newNode("");
  const free: number[] = [];
  let count = 0;

  return {
    use(path, kind) {
      let node = root;
      for (const name of path) {
        let child = node.children.get(name);
        if (child === undefined) node.children.set(name, (child = newNode(name)));
        node = child;
      }
      const slot = (node.slots[kind] ??= {
        number: free.pop() ?? count++,
        path,
        kind,
        values: kind === "equal" ? createValues() : anyValue,
        uses: 0,
      });
      slot.uses += 1;
      return slot;
    },
    release({ path, kind }) {
      const way = [root];
      for (const name of path) {
        const child = way.at(-1)?.children.get(name);
        if (child === undefined) return;
        way.push(child);
      }
      const slot = way.at(-1)?.slots[kind];
      if (slot === undefined || (slot.uses -= 1) > 0) return;
      free.push(slot.number);
      delete way.at(-1)?.slots[kind];
      prune(way);
    },
    walk(event, found) {
      // A list of events is no event, and has no members.
      if (!Array.isArray(event)) visit(root, event, found);
    },
  };
}

const newNode = (name: string): Node => ({
  name,
  children: new Map(),
  slots: {},
  inherited: name in Object.prototype,
});

/** Removes the nodes of a way that lead nowhere any more, the last first. */
function prune(way: readonly Node[]): void {
  for (let at = way.length - 1; at > 0; at -= 1) {
    const node = way[at];
    if (node === undefined || node.children.size > 0 || node.slots.equal || node.slots.present) return;
    way[at - 1]?.children.delete(node.name);
  }
}

function visit(node: Node, value: unknown, found: (slot: number, value: number) => void): void {
  if (typeof value === "object") {
    if (value === null) return;
    if (Array.isArray(value)) for (const element of elements(value)) visit(node, element, found);
    else if (node.children.size > manyNames) visitMembers(node, value, found);
    else visitNames(node, value as Readonly<Record<string, unknown>>, found);
    return;
  }
  const { equal, present } = node.slots;
  if (equal === undefined && present === undefined) return;
  const text = textOf(value);
  if (text === undefined) return;
  if (present !== undefined) found(present.number, 1);
  if (equal === undefined) return;
  const id = equal.values.find(text);
  if (id !== 0) found(equal.number, id);
}

function visitNames(
  node: Node,
  object: Readonly<Record<string, unknown>>,
  found: (slot: number, value: number) => void,
): void {
  for (const child of node.children.values()) {
    if (child.inherited && !Object.hasOwn(object, child.name)) continue;
    const value = object[child.name];
    if (value !== undefined) visit(child, value, found);
  }
}

function visitMembers(node: Node, object: object, found: (slot: number, value: number) => void): void {
  for (const [name, value] of Object.entries(object)) {
    const child = node.children.get(name);
    if (child !== undefined) visit(child, value, found);
  }
}
