interface Node {
  /** The characters between the parent and this node; empty only at the root. */
  label: string;
  /** By first character code of their labels. */
  children: Map<number, Node> | undefined;
  /** The number of the text that ends here; 0 if none does. */
  number: number;
}

/**
 * Numbered texts as a radix tree, which finds those that a text begins with. Takes time in proportion to the
 * text, however many there are.
 */
export class TextTree {
  readonly #root: Node = createNode("", 0);

  set(text: string, number: number): void {
    let node = this.#root;
    for (let at = 0; at < text.length;) {
      const child = node.children?.get(text.charCodeAt(at));
      if (child === undefined) {
        addChild(node, createNode(text.slice(at), number));
        return;
      }
      const shared = countShared(child.label, text, at);
      if (shared < child.label.length) splitNode(child, shared);
      at += shared;
      node = child;
    }
    node.number = number;
  }

  delete(text: string): void {
    let parent: Node | undefined;
    let node = this.#root;
    for (let at = 0; at < text.length; at += node.label.length) {
      const child = node.children?.get(text.charCodeAt(at));
      if (child === undefined || !text.startsWith(child.label, at)) return;
      parent = node;
      node = child;
    }
    node.number = 0;
    if (parent === undefined) return;
    if (node.children === undefined) removeChild(parent, node);
    else mergeOnlyChild(node);
    if (parent !== this.#root && parent.number === 0) mergeOnlyChild(parent);
  }

  /** Calls back with the number of each text that `text` begins with. */
  find(text: string, onFound: (number: number) => void): void {
    let node: Node | undefined = this.#root;
    for (let at = 0; at < text.length;) {
      node = node.children?.get(text.charCodeAt(at));
      if (node === undefined || !text.startsWith(node.label, at)) return;
      if (node.number !== 0) onFound(node.number);
      at += node.label.length;
    }
  }
}

const createNode = (label: string, number: number): Node => ({ label, children: undefined, number });

function addChild(node: Node, child: Node): void {
  (node.children ??= new Map()).set(child.label.charCodeAt(0), child);
}

function removeChild(node: Node, { label }: Node): void {
  node.children?.delete(label.charCodeAt(0));
  if (node.children?.size === 0) node.children = undefined;
}

/** Moves what follows the first characters of a node's label into a child. */
function splitNode(node: Node, length: number): void {
  const rest: Node = { ...node, label: node.label.slice(length) };
  node.label = node.label.slice(0, length);
  node.number = 0;
  node.children = undefined;
  addChild(node, rest);
}

/** A node that ends no text and has one child becomes one with it. */
function mergeOnlyChild(node: Node): void {
  const [only, ...others] = node.children?.values() ?? [];
  if (node.number !== 0 || only === undefined || others.length > 0) return;
  node.label += only.label;
  node.children = only.children;
  node.number = only.number;
}

function countShared(label: string, text: string, from: number): number {
  const length = Math.min(label.length, text.length - from);
  let shared = 0;
  while (shared < length && label.charCodeAt(shared) === text.charCodeAt(from + shared)) shared += 1;
  return shared;
}
