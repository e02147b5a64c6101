/** The steps of every world with Kafka brokers. */
import fc from "fast-check";

import type { CoordinatorKind, LinkFault, MessageName, SocketFault } from "../simulated-servers/index.ts";
import { below, partition, process, upTo, weighted } from "./steps.ts";

/** What happens to the brokers. */
export type ClusterAction =
  | {
      readonly do: "disturb broker";
      readonly process: number;
      readonly broker: number;
      readonly fault: LinkFault;
    }
  /** The next request of a kind to each of the brokers, by the number of the broker. */
  | {
      readonly do: "disturb request";
      readonly process: number;
      readonly request: MessageName;
      readonly faults: readonly SocketFault[];
    }
  | { readonly do: "cut broker"; readonly process: number; readonly broker: number; readonly ms: number }
  | { readonly do: "broker down"; readonly broker: number; readonly ms: number; readonly failOverMs: number }
  | { readonly do: "broker lags"; readonly broker: number; readonly ms: number }
  | { readonly do: "coordinator unavailable"; readonly kind: CoordinatorKind; readonly ms: number }
  | { readonly do: "move coordinator"; readonly kind: CoordinatorKind; readonly to: number }
  | { readonly do: "delay markers"; readonly ms: number }
  /** The brokers must tell how transactions ended. */
  | { readonly do: "lose markers"; readonly ms: number }
  | { readonly do: "rebalance" };

/** Records are sent outside of transactions, or in one and how it ends. */
export type SentIn = "none" | "commit" | "abort" | "leave open";

/** What happens to a topic that the product reads. */
export type InputAction =
  | { readonly do: "end transaction"; readonly partition: number; readonly commit: boolean }
  | { readonly do: "truncate"; readonly partition: number; readonly share: number }
  /** The next leader that is asked for bounds has lost its leadership some time ago. */
  | { readonly do: "old bounds" };

/** For some time, Kafka creates no topics. */
export interface RefuseTopics {
  readonly do: "refuse topics";
  readonly ms: number;
}

/** The offset of the group is set; without a share of the log, it is lost. */
export interface SetOffset {
  readonly do: "set offset";
  readonly partition: number;
  readonly share: number | undefined;
}

/** In a cluster of two the third one is the first. */
export const broker = below(3);
/** Even. Most of `fc.double` are next to 0. */
export const share = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100);
const fault = fc.constantFrom<LinkFault>("request", "response", "late", "slow", "slow");
const kind = fc.constantFrom<CoordinatorKind>("group", "transaction");

export const clusterFaults = [
  weighted(
    30,
    fc.record({
      do: fc.constant("disturb broker"),
      process,
      broker,
      fault,
    }),
  ),
  // Up to three times as long as the session of a member.
  weighted(3, fc.record({ do: fc.constant("cut broker"), process, broker, ms: upTo(3_000, 8_000, 30_000) })),
  weighted(
    2,
    fc.record({
      do: fc.constant("broker down"),
      broker,
      ms: upTo(500, 6_000),
      failOverMs: upTo(50, 3_000),
    }),
  ),
  weighted(2, fc.record({ do: fc.constant("broker lags"), broker, ms: upTo(300, 3_000) })),
  weighted(2, fc.record({ do: fc.constant("coordinator unavailable"), kind, ms: upTo(500, 5_000) })),
  weighted(2, fc.record({ do: fc.constant("move coordinator"), kind, to: broker })),
  weighted(2, fc.record({ do: fc.constant("delay markers"), ms: upTo(500, 12_000) })),
  weighted(3, fc.record({ do: fc.constant("rebalance") })),
];

/** Faults of what is requested rarely, or of two requests at once. */
export const createRequestFaults = (...requests: readonly MessageName[]): fc.Arbitrary<ClusterAction> =>
  fc.record({
    do: fc.constant("disturb request"),
    process,
    request: fc.constantFrom(...requests),
    faults: fc.tuple(fault, fault),
  });

export const setOffset = fc.record<SetOffset>({
  do: fc.constant("set offset"),
  partition,
  share: fc.option(share, { nil: undefined, freq: 3 }),
});
