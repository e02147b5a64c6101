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
 * Leaves out whole namespaces until at most `max` topics are left, so that whoever may write in one namespace
 * cannot stop the events of the others. The largest one pays; namespaces with the same first word count as
 * one (`a.b` and `a.c`), and among them the largest pays. Returns the other topics, in their order; none if
 * all are of one namespace.
 */
export function leaveOutNamespaces(
  externalIds: readonly string[],
  max: number,
  getNamespace: (externalId: string) => string,
): readonly string[] {
  const root = createGroup();
  for (const externalId of externalIds) addTopic(root, getNamespace(externalId), externalId);
  const leftOut = new Set<string>();
  leaveOut(root, externalIds.length - max, leftOut);
  return externalIds.filter((externalId) => !leftOut.has(externalId));
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

/** Leaves out at least `surplus` topics of a group. Returns how many. */
function leaveOut(group: Group, surplus: number, leftOut: Set<string>): number {
  let count = group.externalIds.length;
  for (const externalId of group.externalIds) leftOut.add(externalId);
  const largestFirst = [...group.children].toSorted(
    ([oneWord, one], [otherWord, other]) => other.size - one.size || (oneWord < otherWord ? -1 : 1),
  );
  for (const [, child] of largestFirst) {
    if (count >= surplus) break;
    count += leaveOut(child, surplus - count, leftOut);
  }
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
