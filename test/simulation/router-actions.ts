/** What can happen in the router's world. */
import type { ClusterAction, InputAction, RefuseTopics, SentIn, SetOffset } from "./cluster-steps.ts";
import type { LinkFault } from "../simulated-servers/index.ts";
import type { Fault } from "./steps.ts";

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
  | InputAction
  | {
      readonly do: "produce events";
      readonly partition: number;
      readonly events: readonly SentEvent[];
      readonly transaction: SentIn;
    }
  | { readonly do: "cut events"; readonly partition: number; readonly share: number }
  | SetOffset
  /** The offset is set while no process reads: the group's members join again at once. */
  | (Omit<SetOffset, "do"> & { readonly do: "reset offset" })
  /** Deleted, and created again some time later. */
  | {
      readonly do: "recreate events";
      readonly partitions: number;
      readonly ms: number;
      /** Whether the group's coordinator does not hear that its offsets are of a topic that is gone. */
      readonly keepsOffsets?: boolean;
    }
  /** See the steps of the sync's world. */
  | { readonly do: "move house"; readonly ms: number; readonly share: number }
  /** The group has had no members for too long, or is taken for one that had none. */
  | { readonly do: "expire offsets"; readonly rebalances: boolean }
  | { readonly do: "move events leader"; readonly partition: number; readonly to: number }
  /** A partition has no leader for some time. */
  | { readonly do: "lose events leader"; readonly partition: number; readonly ms: number }
  | { readonly do: "grow events" };

/** What happens to the Kafka topics that events are forwarded to. */
export type EgressAction =
  | {
      readonly do: "create egress topic" | "delete egress topic" | "revoke right" | "grant right";
      readonly number: number;
    }
  | {
      readonly do: "grow egress topic";
      readonly number: number;
      /** The broker that hears of it late. */
      readonly broker?: number;
      readonly unnoticedMs?: number;
      /** Whether the group joins again at once, so that its members look the topic up. */
      readonly rebalances?: boolean;
    }
  | {
      readonly do: "lose egress leader";
      readonly number: number;
      readonly partition: number;
      readonly ms: number;
    }
  | {
      readonly do: "move egress leader";
      readonly number: number;
      readonly partition: number;
      readonly to: number;
    };

export type RouterAction =
  | Fault
  | ClusterAction
  | EventsAction
  /** Without a variant, the topic is removed. */
  | { readonly do: "change topic"; readonly id: number; readonly variant: number | undefined }
  /** A topic gets other external ids, one after another: those of topics that are removed are free. */
  | {
      readonly do: "rename topic";
      readonly id: number;
      readonly to: readonly number[];
      readonly variant: number;
      readonly pauseMs: number;
    }
  /** A process changes a topic and hears late that this is stored, and another one changes it in between. */
  | {
      readonly do: "race topic";
      readonly id: number;
      readonly variant: number | undefined;
      readonly other: number | undefined;
      readonly pauseMs: number;
      readonly answerMs: number;
    }
  /**
   * Change streams report nothing for a while, or end and cannot be opened: they are lost, or the right is
   * revoked.
   */
  | {
      readonly do: "disturb streams";
      readonly how: "delayed" | "lost" | "denied";
      readonly ms: number;
      /** How many requests of each process are slow when it loads the topics again. */
      readonly slowRequests: number;
    }
  /** Several requests in succession. */
  | {
      readonly do: "disturb store";
      readonly process: number;
      readonly fault: LinkFault;
      readonly count: number;
    }
  | EgressAction
  | { readonly do: "grow dead letters" }
  | RefuseTopics;

/** Whether an action can delay what a process knows of the topics. */
export const disturbsStore = (action: RouterAction): boolean =>
  ["elect", "stall replication", "freeze", "race topic", "disturb store", "disturb streams"].includes(
    action.do,
  ) ||
  ("server" in action && action.server === "store");
