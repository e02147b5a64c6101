/** The steps of a run of the sync's world. */
import fc from "fast-check";

import {
  broker,
  clusterFaults,
  setOffset,
  share,
  type ClusterAction,
  type SetOffset,
} from "./cluster-steps.ts";
import {
  below,
  createFaults,
  partition,
  process,
  createSteps,
  upTo,
  weighted,
  type Fault,
  type Server,
  type Step,
} from "./steps.ts";

/** What a producer sends. `variant` selects one of few definitions, so that topics compete for combinations. */
export interface SentRecord {
  readonly id: number;
  readonly kind: "define" | "retire" | "malformed" | "keyless tombstone";
  readonly variant: number;
  /** How far its timestamp is off, where timestamps may be. */
  readonly skewMs: number;
}

/** What happens to the announcements topic. */
export type TopicAction =
  | {
      readonly do: "produce";
      readonly partition: number;
      readonly records: readonly SentRecord[];
      readonly transaction: "none" | "commit" | "abort" | "leave open";
    }
  | { readonly do: "end transaction"; readonly partition: number; readonly commit: boolean }
  | { readonly do: "compact"; readonly partition: number }
  /** `lose end`: the log loses its end. */
  | { readonly do: "truncate" | "lose end"; readonly partition: number; readonly share: number }
  /** Deleted, and created again some time later. */
  | { readonly do: "recreate"; readonly ms: number }
  | { readonly do: "move leader"; readonly partition: number; readonly to: number }
  /** "old bounds": the next leader that is asked for them has lost its leadership some time ago. */
  | { readonly do: "grow" | "old bounds" };

export type Right = "read" | "group" | "write dead letters";

export type SyncAction =
  | Fault
  | ClusterAction
  | TopicAction
  | {
      readonly do: "create" | "disable" | "enable";
      readonly process: number;
      readonly id: number;
      readonly variant: number;
    }
  /** Somebody sets the position in the database. */
  | { readonly do: "set position"; readonly partition: number; readonly share: number }
  | SetOffset
  | { readonly do: "revoke right" | "grant right"; readonly right: Right };

const id = below(8);
const variant = below(5);

const record = fc.record<SentRecord>({
  id,
  kind: fc.constantFrom<SentRecord["kind"]>(
    "define",
    "define",
    "define",
    "define",
    "retire",
    "retire",
    "malformed",
    "keyless tombstone",
  ),
  variant,
  skewMs: fc.integer({ min: -100_000, max: 100_000 }),
});

const topicActions = [
  weighted(
    30,
    fc.record({
      do: fc.constant("produce"),
      partition,
      records: fc.array(record, { minLength: 1, maxLength: 6 }),
      transaction: fc.constantFrom("none", "none", "none", "commit", "abort", "leave open"),
    }),
  ),
  weighted(4, fc.record({ do: fc.constant("end transaction"), partition, commit: fc.boolean() })),
  weighted(2, fc.record({ do: fc.constant("compact"), partition })),
  weighted(2, fc.record({ do: fc.constantFrom("truncate", "lose end"), partition, share })),
  weighted(2, fc.record({ do: fc.constant("recreate"), ms: upTo(5, 500, 3_000) })),
  weighted(3, fc.record({ do: fc.constant("move leader"), partition, to: broker })),
  weighted(2, fc.record({ do: fc.constantFrom("grow", "old bounds", "old bounds") })),
];

const syncAction: fc.Arbitrary<SyncAction> = fc.oneof(
  ...createFaults(fc.constant<Server>("store")),
  ...clusterFaults,
  ...topicActions,
  weighted(10, fc.record({ do: fc.constantFrom("create", "disable", "enable"), process, id, variant })),
  weighted(1, fc.record({ do: fc.constant("set position"), partition, share })),
  weighted(1, setOffset),
  weighted(
    2,
    fc.record({
      do: fc.constantFrom("revoke right", "grant right", "grant right"),
      right: fc.constantFrom<Right>("read", "group", "write dead letters"),
    }),
  ),
);

export const syncSteps = (length: number): fc.Arbitrary<Step<SyncAction>[]> =>
  createSteps(syncAction, length);
