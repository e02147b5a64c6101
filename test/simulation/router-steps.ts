/** The steps of a run of the router's world. */
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
  createSteps,
  upTo,
  weighted,
  type Fault,
  type Server,
  type Step,
} from "./steps.ts";

/** An event as a producer sends it, or what is none. */
export interface SentEvent {
  readonly kind: "event" | "no JSON" | "no event";
  readonly key: number | undefined;
  readonly eventType: "A" | "B";
  readonly level: number;
  /** Larger than some Kafka topics take. */
  readonly isLarge: boolean;
  readonly headers: number;
  /** How far its timestamp is off, where timestamps may be. */
  readonly skewMs: number;
  /** Whether it has headers that only topicsync may write. */
  readonly isForged?: boolean;
}

/** What happens to the events topic. */
export type EventsAction =
  | {
      readonly do: "produce events";
      readonly partition: number;
      readonly events: readonly SentEvent[];
      readonly transaction: "none" | "commit" | "abort" | "leave open";
    }
  | { readonly do: "end transaction"; readonly partition: number; readonly commit: boolean }
  | { readonly do: "truncate" | "cut events"; readonly partition: number; readonly share: number }
  | SetOffset
  /** Deleted, and created again some time later. */
  | { readonly do: "recreate events"; readonly partitions: number; readonly ms: number }
  | { readonly do: "move events leader"; readonly partition: number; readonly to: number }
  /** "old bounds": the next leader that is asked for them has lost its leadership some time ago. */
  | { readonly do: "grow events" | "old bounds" };

export type RouterAction =
  | Fault
  | ClusterAction
  | EventsAction
  /** Without a variant, the topic is removed. */
  | { readonly do: "change topic"; readonly id: number; readonly variant: number | undefined }
  | {
      readonly do:
        "create egress topic" | "delete egress topic" | "grow egress topic" | "revoke right" | "grant right";
      readonly number: number;
    }
  | {
      readonly do: "move egress leader";
      readonly number: number;
      readonly partition: number;
      readonly to: number;
    }
  | { readonly do: "grow dead letters" };

const sentEvent = fc.record<SentEvent>({
  kind: fc.constantFrom<SentEvent["kind"]>(
    "event",
    "event",
    "event",
    "event",
    "event",
    "event",
    "no JSON",
    "no event",
  ),
  key: fc.option(below(4), { nil: undefined, freq: 4 }),
  eventType: fc.constantFrom("A", "B"),
  level: below(2),
  isLarge: below(6).map((number) => number === 0),
  headers: below(3),
  skewMs: fc.integer({ min: -100_000, max: 100_000 }),
  isForged: below(8).map((number) => number === 0),
});

const eventsActions = [
  weighted(2, fc.record({ do: fc.constantFrom("truncate", "cut events"), partition, share })),
  weighted(2, setOffset),
  weighted(
    2,
    fc.record({
      do: fc.constant("recreate events"),
      partitions: fc.integer({ min: 1, max: 2 }),
      ms: upTo(5, 200, 5_000),
    }),
  ),
  weighted(3, fc.record({ do: fc.constant("move events leader"), partition, to: broker })),
];

const number = below(8);

const routerAction: fc.Arbitrary<RouterAction> = fc.oneof(
  ...createFaults(fc.constant<Server>("store")),
  ...clusterFaults,
  weighted(
    40,
    fc.record({
      do: fc.constant("produce events"),
      partition,
      events: fc.array(sentEvent, { minLength: 1, maxLength: 6 }),
      transaction: fc.constantFrom("none", "none", "none", "none", "commit", "abort", "leave open"),
    }),
  ),
  weighted(3, fc.record({ do: fc.constant("end transaction"), partition, commit: fc.boolean() })),
  ...eventsActions,
  weighted(
    16,
    fc.record({
      do: fc.constant("change topic"),
      id: below(4),
      variant: fc.option(below(12), { nil: undefined, freq: 4 }),
    }),
  ),
  weighted(
    6,
    fc.record({
      do: fc.constantFrom(
        "create egress topic",
        "delete egress topic",
        "grow egress topic",
        "grow egress topic",
        "revoke right",
        "grant right",
      ),
      number,
    }),
  ),
  weighted(4, fc.record({ do: fc.constant("move egress leader"), number, partition: below(3), to: broker })),
  weighted(1, fc.record({ do: fc.constantFrom("grow events", "grow dead letters", "old bounds") })),
);

export const routerSteps = (length: number): fc.Arbitrary<Step<RouterAction>[]> =>
  createSteps(routerAction, length);
