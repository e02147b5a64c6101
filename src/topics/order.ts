import { getCombination, type Topic } from "./topic.ts";

/** Updates in an order in which each finds its combination free. */
export interface OrderedUpdates {
  readonly updated: readonly Topic[];
  /** One topic of each ring of topics that exchanged their combinations: removed first and inserted again last. */
  readonly reinserted: readonly Topic[];
}

/**
 * Orders updates so that no unique index objects: whoever gives a combination up goes before whoever takes it. Rings
 * (A takes B's combination while B takes A's) are opened by taking one member out and putting it back at the end.
 */
export function orderUpdates(
  changes: readonly { readonly from: Topic; readonly to: Topic }[],
): OrderedUpdates {
  const holders = new Map(changes.map((change) => [getCombination(change.from), change]));
  const updated: Topic[] = [];
  const reinserted: Topic[] = [];
  const placed = new Set<string>();

  for (const start of changes) {
    // From the taker to the holder of what it takes, and on, until a combination is free; then back.
    const chain: (typeof start)[] = [];
    const inChain = new Set<string>();
    for (let next: typeof start | undefined = start; next !== undefined && !placed.has(next.to.id);) {
      if (inChain.has(next.to.id)) {
        // A chain can only come back to where it began: two topics never take the same combination.
        reinserted.push(next.to);
        placed.add(next.to.id);
        break;
      }
      chain.push(next);
      inChain.add(next.to.id);
      const wanted = getCombination(next.to);
      next = wanted === getCombination(next.from) ? undefined : holders.get(wanted);
    }
    for (const change of chain.toReversed()) {
      if (placed.has(change.to.id)) continue;
      updated.push(change.to);
      placed.add(change.to.id);
    }
  }
  return { updated, reinserted };
}
