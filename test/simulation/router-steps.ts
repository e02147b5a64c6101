/** The steps of a run of the router's world. */
import fc from "fast-check";

import { broker, clusterFaults, createRequestFaults, setOffset, share } from "./cluster-steps.ts";
import type { LinkFault } from "../simulated-servers/index.ts";
import type { RouterAction, SentEvent } from "./router-actions.ts";
import {
  below,
  createFaults,
  partition,
  process,
  createSteps,
  upTo,
  weighted,
  type Server,
  type Step,
} from "./steps.ts";

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
    setOffset.map((action) => ({ ...action, do: "reset offset" as const })),
  ),
  weighted(
    2,
    fc.record({
      do: fc.constant("recreate events"),
      partitions: fc.integer({ min: 1, max: 2 }),
      ms: upTo(5, 200, 5_000),
      keepsOffsets: fc.boolean(),
    }),
  ),
  weighted(1, fc.record({ do: fc.constant("expire offsets"), rebalances: fc.boolean() })),
  weighted(3, fc.record({ do: fc.constant("move events leader"), partition, to: broker })),
  weighted(1, fc.record({ do: fc.constantFrom("grow events", "old bounds") })),
];

const moveHouse = fc.record({ do: fc.constant("move house"), ms: upTo(5, 500, 3_000), share });

const requestFaults = [
  weighted(
    8,
    createRequestFaults(
      "produce7",
      "produce7",
      "produce7",
      "endTxn1",
      "endTxn1",
      "addPartitionsToTxn1",
      "txnOffsetCommit1",
      "initProducerId1",
      "offsetFetch7",
      "metadata6",
    ),
  ),
  weighted(3, createRequestFaults("syncGroup3", "syncGroup3", "joinGroup5", "heartbeat3")),
];

/** The group gives the partitions of a process to others. */
const absences = weighted(
  1,
  fc.record({
    do: fc.constant("kill"),
    process,
    restartMs: fc.integer({ min: 10_000, max: 30_000 }),
    noticedMs: upTo(50),
  }),
);

const lostMarkers = weighted(1, fc.record({ do: fc.constant("lose markers"), ms: upTo(50, 1_000, 5_000) }));

const brokerFaults = [...clusterFaults, ...requestFaults, absences, lostMarkers];

const number = below(8);
const variant = fc.option(below(12), { nil: undefined, freq: 4 });

const production = [
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
];

const topicChanges = [weighted(16, fc.record({ do: fc.constant("change topic"), id: below(4), variant }))];

/** Also two in a row, and back. */
const renames = weighted(
  6,
  fc.record({
    do: fc.constant("rename topic"),
    id: below(4),
    to: fc.array(below(4), { minLength: 1, maxLength: 3 }),
    variant: below(12),
    pauseMs: upTo(0, 300, 12_000),
  }),
);

const storeActions = [
  ...createFaults(fc.constant<Server>("store")),
  weighted(
    3,
    fc.record({
      do: fc.constant("race topic"),
      id: below(4),
      variant,
      other: variant,
      pauseMs: upTo(5, 1_000),
      answerMs: upTo(500, 4_000),
    }),
  ),
  weighted(
    3,
    fc.record({
      do: fc.constant("disturb streams"),
      how: fc.constantFrom("delayed", "lost", "lost", "lost", "denied"),
      ms: upTo(0, 0, 2_000, 10_000),
      slowRequests: below(5),
    }),
  ),
  weighted(
    3,
    fc.record({
      do: fc.constant("disturb store"),
      process,
      fault: fc.constantFrom<LinkFault>("request", "response", "slow", "slow"),
      count: fc.integer({ min: 2, max: 8 }),
    }),
  ),
];

const egressActions = [
  weighted(
    4,
    fc.record({
      do: fc.constantFrom(
        "create egress topic",
        "create egress topic",
        "delete egress topic",
        "revoke right",
        "grant right",
        "grant right",
        "grant right",
      ),
      number,
    }),
  ),
  weighted(
    6,
    fc.record({
      do: fc.constant("grow egress topic"),
      number,
      broker,
      unnoticedMs: upTo(0, 500, 5_000, 5_000),
      rebalances: fc.boolean(),
    }),
  ),
  weighted(4, fc.record({ do: fc.constant("move egress leader"), number, partition: below(3), to: broker })),
  weighted(1, fc.record({ do: fc.constant("grow dead letters") })),
  weighted(1, fc.record({ do: fc.constant("refuse topics"), ms: upTo(500, 5_000, 20_000) })),
];

const leaderLosses = [
  weighted(
    3,
    fc.record({
      do: fc.constant("lose egress leader"),
      number,
      partition: below(3),
      ms: upTo(500, 5_000, 40_000),
    }),
  ),
  weighted(3, fc.record({ do: fc.constant("lose events leader"), partition, ms: upTo(500, 5_000, 40_000) })),
];

interface Weighted {
  readonly weight: number;
  readonly arbitrary: fc.Arbitrary<RouterAction>;
}

const more = (factor: number, actions: readonly Weighted[]): readonly Weighted[] =>
  actions.map(({ weight, arbitrary }) => ({ weight: weight * factor, arbitrary }));

/** Everything, or most of what concerns one part, so that rare events meet. */
const mixtures: readonly fc.Arbitrary<RouterAction>[] = [
  fc.oneof(
    ...storeActions,
    ...brokerFaults,
    ...production,
    ...eventsActions,
    ...topicChanges,
    ...egressActions,
  ),
  fc.oneof(...brokerFaults, ...production, ...more(5, eventsActions)),
  fc.oneof(...brokerFaults, ...production, ...more(2, eventsActions), weighted(10, moveHouse)),
  fc.oneof(...brokerFaults, ...production, ...more(2, topicChanges), ...more(4, egressActions)),
  fc.oneof(...brokerFaults, ...more(2, production), ...topicChanges, ...more(3, leaderLosses)),
];

/**
 * Little but events and what happens to the topics that they go to, for so long that what is known of these
 * expires.
 */
const slowActions: fc.Arbitrary<RouterAction> = fc.oneof(
  ...brokerFaults,
  ...more(3, production),
  ...topicChanges,
  ...more(2, egressActions),
  ...leaderLosses,
);
const slowPauses = fc.oneof(weighted(3, upTo(300)), weighted(2, upTo(6_000)));

const topicActions: fc.Arbitrary<RouterAction> = fc.oneof(
  ...more(2, storeActions),
  ...production,
  ...more(4, topicChanges),
);

const renamingActions: fc.Arbitrary<RouterAction> = fc.oneof(
  ...storeActions,
  ...production,
  ...more(2, topicChanges),
  ...more(6, [renames]),
);
/** Topics that are renamed without anything that goes wrong. */
const calmRenamingActions: fc.Arbitrary<RouterAction> = fc.oneof(
  ...production,
  ...more(2, topicChanges),
  ...more(6, [renames]),
);

/** Most begin when a process reads, which takes some seconds. */
export const routerSteps = (length: number): fc.Arbitrary<Step<RouterAction>[]> =>
  fc
    .tuple(
      fc.constantFrom(0, 5_000, 5_000),
      fc.oneof(
        ...mixtures.map((action) => createSteps(action, length)),
        // Shorter, because only what is wrong at the end is certain to be found.
        createSteps(topicActions, Math.min(length, 40)),
        createSteps(renamingActions, Math.min(length, 40)),
        createSteps(calmRenamingActions, Math.min(length, 40), slowPauses),
        // With fast-check's bias, most runs would be short, and use little but the first of each range.
        fc.noBias(createSteps(slowActions, length, slowPauses)),
      ),
    )
    .map(([waitMs, [first, ...others]]) =>
      first === undefined ? [] : [{ ...first, afterMs: first.afterMs + waitMs }, ...others],
    );
