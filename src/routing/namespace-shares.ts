/** Topics of one namespace, or of all namespaces that begin with the same words. */
interface Group {
  readonly externalIds: string[];
  readonly children: Map<string, Group>;
  size: number;
}

/** A limit on the work: a namespace may have hundreds of words. */
const maxDepth = 3;

const createGroup = (): Group => ({ externalIds: [], children: new Map(), size: 0 });

/**
 * Keeps at most `max` topics, so that whoever may write in one namespace cannot stop the events of the
 * others: a namespace with few topics keeps them all, and those with more keep equally many. Namespaces with
 * the same first word count as one (`a.b` and `a.c`) and share what it has. Returns the topics that are kept,
 * in their order; none if all are of one namespace.
 */
export function keepShares(
  externalIds: readonly string[],
  max: number,
  getNamespace: (externalId: string) => string,
): readonly string[] {
  const root = createGroup();
  const namespaces = new Set<string>();
  for (const externalId of externalIds) {
    const namespace = getNamespace(externalId);
    namespaces.add(namespace);
    addTopic(root, namespace, externalId);
  }
  const kept = new Set<string>();
  if (namespaces.size > 1) share(root, max, kept);
  return externalIds.filter((externalId) => kept.has(externalId));
}

function addTopic(root: Group, namespace: string, externalId: string): void {
  let group = root;
  group.size += 1;
  // The namespace `a` itself is one of those that begin with `a`.
  for (const word of [...namespace.split(".", maxDepth), `=${namespace}`]) {
    const child = group.children.get(word) ?? createGroup();
    group.children.set(word, child);
    child.size += 1;
    group = child;
  }
  group.externalIds.push(externalId);
}

/** Keeps at most `max` topics of a group. Returns how many. */
function share(group: Group, max: number, kept: Set<string>): number {
  const own = group.externalIds.slice(0, max);
  for (const externalId of own) kept.add(externalId);
  let count = own.length;
  // What small groups leave of their shares goes to the larger ones.
  const smallestFirst = [...group.children.values()].toSorted((one, other) => one.size - other.size);
  for (const [index, child] of smallestFirst.entries())
    count += share(child, Math.floor((max - count) / (smallestFirst.length - index)), kept);
  return count;
}

const maxQuoted = 5;

/** Names the namespaces of some topics: `the namespaces "a" and "b"`. */
export function quoteNamespaces(
  externalIds: readonly string[],
  getNamespace: (externalId: string) => string,
): string {
  const names = [...new Set(externalIds.map(getNamespace))].toSorted();
  const quoted = names.slice(0, maxQuoted).map((name) => JSON.stringify(name));
  const more = names.length > maxQuoted ? ` and ${names.length - maxQuoted} more` : "";
  return `the namespace${names.length === 1 ? "" : "s"} ${quoted.join(", ")}${more}`;
}
