/**
 * A simulated MongoDB: a replica set with a primary that its members elect, or a standalone server without transactions.
 *
 * Each primary is a reign (reign.ts). After an election the former one may serve for some seconds: it does not know yet, and a
 * majority never gets what it commits. Only with a commit of its own does the next primary know what a majority has.
 */
import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import type { Commit, Read, ServerObserver, ServerOptions } from "./commands.ts";
import type { Document } from "./documents.ts";
import { createError } from "./errors.ts";
import type { UniqueIndex } from "./records.ts";
import { createReign, type Reign, type StreamFaults } from "./reign.ts";

export interface MongoServer {
  readonly host: Host;
  readonly options: ServerOptions;
  readonly getPrimary: () => Reign;
  /** Calls a listener whenever a primary is up after an election. */
  readonly onElection: (listener: (primary: Reign) => void) => void;
  /** The number of the election. */
  readonly getTerm: () => number;
  /** Whether there is a primary. */
  readonly isUp: () => boolean;
  /** Loses the primary. What a majority does not have may be lost with it. */
  readonly elect: (downMs: number, losesUnreplicated: boolean) => void;
  /** Loses the primary, and what is not replicated then, once it has answered some reads of a collection; undefined: it stays. */
  readonly electAfterReads: (awaited: AwaitedReads | undefined) => void;
  /** Keeps commits from a majority for some time. */
  readonly stallReplication: (ms: number) => void;
  /** Change streams end, and cannot be opened, for some time. */
  readonly failStreams: (ms: number, code: number) => void;
  /** Change streams report nothing for some time. */
  readonly delayStreams: (ms: number) => void;
  readonly readAll: (collection: string) => readonly Document[];
  /** The last commit that a majority has. */
  readonly getMajority: () => number;
  readonly getLastCommit: () => number;
  readonly observe: (observer: ServerObserver) => void;
}

export interface AwaitedReads {
  readonly collection: string;
  readonly reads: number;
  readonly downMs: number;
  /**
   * Counts only reads of what a majority does not have, by another client than its writer. Replication stalls for this time
   * with each write of the collection.
   */
  readonly unreplicated?: { readonly stallMs: number; readonly onElected: (writer: Host) => void };
}

/** As long as a primary that is cut off from the other members takes it to step down. */
const maxFormerMs = 10_000;
/** How long a former primary that is alive falls behind. */
const maxBehindMs = 30_000;
/** What members report around elections: QueryPlanKilled, KeyNotFound, IncompleteTransactionHistory, TransactionTooOld. */
const passingErrors = [175, 211, 217, 225] as const;
const maxUnsettledMs = 300;

export function createMongoServer(
  { clock, random, host }: { readonly clock: Clock; readonly random: Random; readonly host: Host },
  options: ServerOptions,
): MongoServer {
  const { isReplicaSet } = options;
  const indexes = new Map<string, UniqueIndex[]>();
  let observer: ServerObserver = {
    onCommit: () => undefined,
    onRead: () => undefined,
    onRollback: () => undefined,
  };
  let commits = 0;
  let majority = 0;
  let stalledUntil = 0;
  const streams: StreamFaults = { failUntil: -1, code: 0, lagUntil: 0 };
  /** The commits that the present primary has. */
  let history: Commit[] = [];
  const electionListeners: ((reign: Reign) => void)[] = [];
  let waiting: ((value: undefined) => void)[] = [];
  let awaited: AwaitedReads | undefined;

  /** Waits until something has happened, at most for a time. */
  async function change(maxMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    waiting.push(resolve);
    const cancel = clock.schedule(host, maxMs, () => {
      resolve(undefined);
    });
    await promise;
    cancel();
  }

  function changed(): void {
    const resolvers = waiting;
    waiting = [];
    for (const resolve of resolvers)
      clock.schedule(host, 0, () => {
        resolve(undefined);
      });
  }

  function replicate(reign: Reign, commit: number): void {
    if (!isReplicaSet) {
      majority = commit;
      reign.forgetBefore(majority);
      return;
    }
    const delayMs = Math.max(0, stalledUntil - clock.getTime()) + random.next() * 3;
    clock.schedule(host, delayMs, () => {
      if (reign !== primary || commit <= majority) return;
      majority = commit;
      reign.forgetBefore(majority);
      changed();
    });
  }

  const begin = (term: number, upAt: number, former: Reign | undefined, kept: number): Reign => {
    const reign: Reign = createReign({
      ...{ clock, host, options, indexes, streams, term, upAt, former, kept, change, changed },
      countCommit: () => (commits += 1),
      getMajority: () => majority,
      getHistory: () => history,
      onRead: (read) => {
        observer.onRead(read);
        if (reign === primary && read.collection === awaited?.collection) countRead(awaited, read);
      },
      onCommit(commit) {
        if (reign !== primary) {
          observer.onLost?.(commit);
          return;
        }
        history.push(commit);
        if (awaited?.unreplicated !== undefined && changesCollection(commit, awaited.collection))
          stalledUntil = clock.getTime() + awaited.unreplicated.stallMs;
        replicate(reign, commit.number);
        if (commit.changes.length > 0) observer.onCommit(commit);
      },
      requireSettled() {
        if (clock.getTime() < upAt + unsettledMs && random.chance(0.3)) {
          const code = random.pick(passingErrors);
          throw createError(code, `error ${code}`);
        }
      },
    });
    const unsettledMs = former !== undefined && random.chance(0.3) ? random.between(0, maxUnsettledMs) : 0;
    return reign;
  };

  let primary = begin(0, 0, undefined, 0);

  /** Tells the clients once the primary is up, and lets it commit something of its own. */
  function announce(reign: Reign, downMs: number): void {
    clock.schedule(host, downMs, () => {
      if (reign !== primary) return;
      if (isReplicaSet) reign.commitNothing();
      for (const listener of electionListeners) listener(reign);
    });
  }

  /** The client that wrote what another one has just read, and a majority does not have. */
  function findWriter({ client, collection }: Read): Host | undefined {
    const unreplicated = history.filter(
      (commit) => commit.number > majority && changesCollection(commit, collection),
    );
    const writer = unreplicated.at(-1)?.client;
    return writer === client ? undefined : writer;
  }

  function countRead({ reads, ...rest }: AwaitedReads, read: Read): void {
    const writer = findWriter(read);
    if (rest.unreplicated !== undefined && writer === undefined) return;
    awaited = reads > 1 ? { reads: reads - 1, ...rest } : undefined;
    if (awaited !== undefined) return;
    clock.schedule(host, 0, () => {
      if (writer !== undefined) rest.unreplicated?.onElected(writer);
      elect(rest.downMs, "all");
    });
  }

  /** The last commit that an election keeps. */
  function findKept(former: Reign, loses: "some" | "all"): number {
    const keepable = former.listCommits().filter((number) => number >= majority);
    return keepable[loses === "all" ? 0 : random.between(0, keepable.length)] ?? former.getLastCommit();
  }

  function elect(downMs: number, loses: "nothing" | "some" | "all"): void {
    const now = clock.getTime();
    const former = primary;
    const last = former.getLastCommit();
    const kept = isReplicaSet && loses !== "nothing" ? findKept(former, loses) : last;
    const survives = isReplicaSet && random.chance(0.4);
    const servesUntil =
      survives && former.isUp() ? now + random.between(0, random.pick([200, maxFormerMs])) : now;
    primary = begin(former.term + 1, now + downMs, former, kept);
    former.depose({
      servesUntil,
      isAlive: survives,
      followsAgainAt: servesUntil + random.between(0, random.pick([500, maxBehindMs])),
      rollsBack: kept < last,
    });
    if (kept < last) {
      history = history.filter(({ number }) => number <= kept);
      observer.onRollback(kept);
    }
    announce(primary, downMs);
    changed();
  }

  return {
    host,
    options,
    getPrimary: () => primary,
    onElection: (listener) => void electionListeners.push(listener),
    isUp: () => primary.isUp(),
    getTerm: () => primary.term,

    elect(downMs, losesUnreplicated) {
      elect(downMs, losesUnreplicated ? "some" : "nothing");
    },
    electAfterReads(given) {
      awaited = given;
    },

    stallReplication(ms) {
      stalledUntil = clock.getTime() + ms;
    },

    failStreams(ms, code) {
      Object.assign(streams, { failUntil: clock.getTime() + ms, code });
      changed();
    },
    delayStreams(ms) {
      streams.lagUntil = clock.getTime() + ms;
    },

    readAll: (collection) => primary.readAll(collection),
    getMajority: () => majority,
    getLastCommit: () => primary.getLastCommit(),
    observe(given) {
      observer = given;
    },
  };
}

const changesCollection = ({ changes }: Commit, name: string): boolean =>
  changes.some(({ collection }) => collection === name);
