/** The steps of a run of the sync's world. */
import fc from "fast-check";

import {
  broker,
  clusterFaults,
  setOffset,
  share,
  type ClusterAction,
  type InputAction,
  type RefuseTopics,
  type SentIn,
  type SetOffset,
} from "./cluster-steps.ts";
import type { LinkFault, MessageName } from "../simulated-servers/index.ts";
import { createApplies, type ApplyAction } from "./sync-apply-steps.ts";
import { createSending, type Meant, type SentRecord } from "./sync-sending.ts";
import {
  below,
  createFaults,
  lossyElections,
  partition,
  process,
  createSteps,
  upTo,
  weighted,
  type Fault,
  type Server,
  type Step,
} from "./steps.ts";

/** What happens to the announcements topic. */
export type TopicAction =
  | InputAction
  | {
      readonly do: "produce";
      readonly partition: number;
      readonly records: readonly SentRecord[];
      readonly transaction: SentIn;
    }
  | { readonly do: "compact"; readonly partition: number }
  /** The log loses its end. */
  | { readonly do: "lose end"; readonly partition: number; readonly share: number }
  /** All logs lose their ends at once, as when a broker becomes the leader that was behind. */
  | { readonly do: "lose ends"; readonly share: number }
  /**
   * Deleted, and created again some time later; with as many partitions as before, unless a number is given.
   * `isFilledAgain`: producers send everything once more. The former leaders may hear of it late.
   */
  | {
      readonly do: "recreate";
      readonly ms: number;
      readonly partitions?: number;
      readonly isFilledAgain?: boolean;
      readonly firstLeader?: number;
      readonly unnoticedMs?: number;
    }
  /**
   * Another cluster takes the place of the brokers some time later: a mirror with the same records, except
   * for the first ones.
   */
  | { readonly do: "move house"; readonly ms: number; readonly share: number }
  | {
      readonly do: "move leader";
      readonly partition: number;
      readonly to: number;
      readonly unnoticedMs?: number;
    }
  /** All leaders move, as when a broker is to be restarted. */
  | { readonly do: "move leaders"; readonly to: number; readonly unnoticedMs: number }
  | { readonly do: "grow" };

export type Right = "read" | "fetch" | "group" | "write dead letters" | "create topics";

export type SyncAction =
  | Fault
  | ClusterAction
  | TopicAction
  | {
      readonly do: "create" | "disable" | "enable" | "change" | "restore" | "exchange";
      readonly process: number;
      readonly id: number;
      readonly variant: number;
    }
  | ApplyAction
  /** Somebody sets the position in the database. */
  | { readonly do: "set position"; readonly partition: number; readonly share: number }
  | { readonly do: "lose position"; readonly partition: number }
  | SetOffset
  /** Replication stalls, and the primary is lost once it has answered some look-ups. */
  | {
      readonly do: "elect at look-up";
      readonly of: "topics" | "logs";
      readonly lookUps: number;
      readonly stallMs: number;
      readonly downMs: number;
    }
  /**
   * Replication stalls with the next write of a log's epoch. The primary is lost once another process has
   * read it, and the writer is cut off from the store.
   */
  | { readonly do: "elect at unreplicated epoch"; readonly stallMs: number; readonly downMs: number }
  /** The group loses its offsets. */
  | { readonly do: "expire offsets" }
  | RefuseTopics
  | { readonly do: "revoke right" | "grant right"; readonly right: Right };

const topicActions = [
  weighted(2, fc.record({ do: fc.constant("compact"), partition })),
  weighted(2, fc.record({ do: fc.constantFrom("truncate", "lose end"), partition, share })),
  weighted(
    2,
    fc.record({
      do: fc.constant("recreate"),
      ms: upTo(5, 500, 3_000),
      partitions: fc.integer({ min: 1, max: 3 }),
    }),
  ),
  weighted(
    4,
    fc.record({ do: fc.constant("move leader"), partition, to: broker, unnoticedMs: upTo(5, 500, 15_000) }),
  ),
  weighted(2, fc.record({ do: fc.constantFrom("grow", "old bounds", "old bounds") })),
];

const moveHouse = fc.record({ do: fc.constant("move house"), ms: upTo(5, 500, 3_000), share });

const createOperation = (meant: Meant) =>
  fc.record({
    do: fc.constantFrom("create", "create", "disable", "enable", "change", "change", "restore", "exchange"),
    process,
    ...meant,
  });
const storeFaults = createFaults(fc.constant<Server>("store"));
/** An administrator often means the end of the log, or its beginning. */
const setPosition = fc.record({
  do: fc.constant("set position"),
  partition,
  share: fc.oneof(share, fc.constant(0), fc.constant(1)),
});
const administration = [
  weighted(1, setPosition),
  weighted(1, fc.record({ do: fc.constant("lose position"), partition })),
  weighted(1, setOffset),
  weighted(1, fc.record({ do: fc.constant("expire offsets") })),
  weighted(
    2,
    fc.record({
      do: fc.constantFrom("revoke right", "grant right", "grant right"),
      right: fc.constantFrom<Right>("read", "fetch", "group", "write dead letters", "create topics"),
    }),
  ),
  weighted(1, fc.record({ do: fc.constant("refuse topics"), ms: upTo(500, 5_000) })),
];

/** A process that does not know yet that another one has its partitions. */
const takeovers = [
  weighted(8, fc.record({ do: fc.constant("rebalance") })),
  weighted(4, fc.record({ do: fc.constant("freeze"), process, ms: fc.integer({ min: 8_000, max: 20_000 }) })),
];

/** What was looked up is lost before anything that is based on it is stored. */
const createElectionAtLookUp = (of: "topics" | "logs") =>
  fc.record({
    do: fc.constant("elect at look-up"),
    of: fc.constant(of),
    // Two processes that meet a new log ask several times.
    lookUps: fc.integer({ min: 1, max: of === "logs" ? 8 : 3 }),
    stallMs: upTo(200, 2_000),
    downMs: fc.oneof(fc.constant(0), upTo(50)),
  });

/** Logs that come and go, while some brokers and processes have not heard of it. */
const replacements = [
  weighted(
    6,
    fc.record({
      do: fc.constant("recreate"),
      ms: upTo(5, 500),
      partitions: fc.integer({ min: 1, max: 3 }),
      isFilledAgain: fc.boolean(),
      firstLeader: broker,
      unnoticedMs: fc.oneof(fc.constant(0), upTo(3_000, 20_000)),
    }),
  ),
  weighted(4, fc.record({ do: fc.constant("cut broker"), process, broker, ms: upTo(3_000, 20_000) })),
  weighted(6, fc.record({ do: fc.constant("broker lags"), broker, ms: upTo(3_000, 20_000) })),
  weighted(6, fc.record({ do: fc.constant("move leader"), partition, to: broker, unnoticedMs: upTo(500) })),
  weighted(4, fc.record({ do: fc.constant("lose ends"), share })),
  weighted(4, fc.record({ do: fc.constant("kill"), process, restartMs: upTo(50), noticedMs: upTo(50) })),
];

/** Responses with records that arrive after the reader has looked up its position again. */
const lateRecords = [
  weighted(
    30,
    fc.record({ do: fc.constant("disturb broker"), process, broker, fault: fc.constant<LinkFault>("slow") }),
  ),
  weighted(
    30,
    fc.record({
      do: fc.constant("disturb request"),
      process,
      request: fc.constantFrom<MessageName>("fetch13", "fetch13", "fetch13", "fetch11"),
      faults: fc.constant<LinkFault[]>(["slow", "slow"]),
    }),
  ),
  weighted(20, fc.record({ do: fc.constant("move leaders"), to: broker, unnoticedMs: upTo(20, 500) })),
  weighted(5, setPosition),
];
/** A write fails, and the position is looked up again at once. */
const shortElection = weighted(
  10,
  fc.record({ do: fc.constant("elect"), downMs: upTo(50), losesUnreplicated: fc.constant(false) }),
);

const some: Meant = { id: below(8), variant: below(5) };
const few: Meant = { id: below(3), variant: below(2) };

const everything = fc.oneof(
  ...storeFaults,
  ...clusterFaults,
  ...createSending(some),
  ...topicActions,
  weighted(10, createOperation(some)),
  weighted(2, createElectionAtLookUp("topics")),
  ...administration,
);
const store = fc.oneof(
  ...storeFaults,
  ...createSending(some),
  weighted(10, createOperation(some)),
  ...takeovers,
);
const cluster = fc.oneof(...clusterFaults, ...createSending(some), ...topicActions, ...administration);
const users = fc.oneof(
  ...storeFaults,
  ...createSending(few),
  weighted(60, createOperation(few)),
  ...lossyElections,
  weighted(15, createElectionAtLookUp("topics")),
);
const applies = fc.oneof(
  ...storeFaults,
  ...lossyElections,
  weighted(60, createApplies(4, 3)),
  ...createSending({ id: below(4), variant: below(3) }),
  weighted(10, createOperation({ id: below(4), variant: below(3) })),
  weighted(5, createElectionAtLookUp("topics")),
);
/** Nothing else goes wrong, so that much is decided. */
const lookUps = fc.oneof(
  ...createSending(few),
  weighted(60, createOperation(few)),
  weighted(40, createElectionAtLookUp("topics")),
);
const logs = fc.oneof(
  ...createSending(some),
  ...replacements,
  ...takeovers,
  weighted(8, createElectionAtLookUp("logs")),
);
/** Nobody but a person says where reading goes on. */
const houses = fc.oneof(
  ...createSending(some),
  ...takeovers,
  weighted(6, moveHouse),
  weighted(2, setPosition),
  weighted(1, fc.record({ do: fc.constant("lose position"), partition })),
  shortElection,
);
const reading = fc.oneof(...storeFaults, ...createSending(some), ...lateRecords, shortElection);

/** Some runs have only some kinds of faults, which meet each other more often there. */
export const syncSteps = (length: number): fc.Arbitrary<Step<SyncAction>[]> =>
  fc.oneof(
    weighted(4, createSteps<SyncAction>(everything, length)),
    weighted(2, createSteps<SyncAction>(store, length)),
    weighted(1, createSteps<SyncAction>(cluster, length)),
    weighted(2, createSteps<SyncAction>(users, length)),
    weighted(4, createSteps<SyncAction>(lookUps, length)),
    weighted(2, createSteps<SyncAction>(logs, length)),
    weighted(3, createSteps<SyncAction>(reading, length)),
    weighted(1, createSteps<SyncAction>(houses, length)),
    weighted(3, createSteps<SyncAction>(applies, length)),
  );
