/** Steps in which users change several topics at once, in the sync's world. */
import fc from "fast-check";

import { below, process, weighted } from "./steps.ts";

/** A change that a user wants, of a topic as it is then. */
export interface SentChange {
  readonly kind: "create" | "change" | "rename" | "disable" | "enable";
  readonly id: number;
  readonly variant: number;
  /** The next id, if it is renamed. */
  readonly to: number;
}

export interface ApplyAction {
  readonly do: "apply";
  readonly process: number;
  readonly changes: readonly SentChange[];
  /** What another user asks the other process at the same time. */
  readonly rival: readonly SentChange[];
}

const maxChanges = 4;

/** `count`: how many topics there are; two more ids are never announced. */
function createChanges(count: number, variants: number): fc.Arbitrary<readonly SentChange[]> {
  const variant = below(variants);
  const one = fc.record<SentChange>({
    kind: fc.constantFrom("create", "change", "change", "rename", "disable", "enable"),
    ...{ id: below(count), variant, to: below(count + 2) },
  });
  const mixed = fc.uniqueArray(one, { selector: ({ id }) => id, minLength: 1, maxLength: maxChanges });
  const ids = Array.from({ length: count + 2 }, (_, id) => id);
  const several = fc.shuffledSubarray(ids, { minLength: 2, maxLength: maxChanges });
  const chain = fc.tuple(several, fc.boolean()).map(([chosen, isRing]) =>
    chosen.slice(0, isRing ? undefined : -1).map((id, at): SentChange => {
      const to = chosen[(at + 1) % chosen.length] ?? id;
      return { kind: "rename", id, variant: 0, to };
    }),
  );
  const created = fc
    .subarray(ids, { minLength: 1, maxLength: maxChanges })
    .map((chosen) => chosen.map((id): SentChange => ({ kind: "create", id, variant: 0, to: id })));
  return fc.oneof(
    weighted(3, mixed),
    weighted(2, chain as fc.Arbitrary<readonly SentChange[]>),
    weighted(2, created as fc.Arbitrary<readonly SentChange[]>),
  );
}

export function createApplies(count: number, variants: number): fc.Arbitrary<ApplyAction> {
  const changes = createChanges(count, variants);
  return fc.record({
    ...{ do: fc.constant("apply" as const), process, changes },
    rival: fc.oneof(changes, fc.constant([])),
  });
}
