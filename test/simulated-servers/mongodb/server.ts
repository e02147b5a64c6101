/**
 * A simulated MongoDB: a replica set with a primary that its members elect, or a standalone server without
 * transactions.
 *
 * Each primary is a reign (reign.ts). After an election the former one may serve for some seconds: it does
 * not know yet, and a majority never gets what it commits. Only with a commit of its own does the next
 * primary know what a majority has.
 */
import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import type { Commit, Read, ServerObserver, ServerOptions } from "./commands.ts";
import type { Document } from "./documents.ts";
import { createError } from "./errors.ts";
import type { UniqueIndex } from "./records.ts";
import { Reign } from "./reign.ts";
import type { ReignOptions, StreamFaults } from "./reign-options.ts";

export interface AwaitedReads {
  readonly collection: string;
  readonly reads: number;
  readonly downMs: number;
  /**
   * Counts only reads of what a majority does not have, by another client than its writer. Replication stalls
   * for this time with each write of the collection.
   */
  readonly unreplicated?: { readonly stallMs: number; readonly onElected: (writer: Host) => void };
}

/** As long as a primary that is cut off from the other members takes it to step down. */
const maxFormerMs = 10_000;
/** How long a former primary that is alive falls behind. */
const maxBehindMs = 30_000;
/**
 * What members report around elections: QueryPlanKilled, KeyNotFound, IncompleteTransactionHistory,
 * TransactionTooOld.
 */
const passingErrors = [175, 211, 217, 225] as const;
const maxUnsettledMs = 300;

interface ServerWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly host: Host;
}

/** What an election loses. */
type Loss = "nothing" | "some" | "all";

export class MongoServer {
  readonly host: Host;
  readonly options: ServerOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #indexes = new Map<string, UniqueIndex[]>();
  #observer: ServerObserver = {
    onCommit: () => undefined,
    onRead: () => undefined,
    onRollback: () => undefined,
  };
  /** How many commits all primaries have made. */
  #commits = 0;
  /** The last commit that a majority has. */
  #majority = 0;
  #stalledUntil = 0;
  readonly #streams: StreamFaults = { failUntil: -1, code: 0, lagUntil: 0 };
  /** The commits that the present primary has. */
  #history: Commit[] = [];
  readonly #electionListeners: ((reign: Reign) => void)[] = [];
  #waiting: ((value: undefined) => void)[] = [];
  #awaited: AwaitedReads | undefined;
  #primary: Reign;

  constructor({ clock, random, host }: ServerWorld, options: ServerOptions) {
    this.host = host;
    this.options = options;
    this.#clock = clock;
    this.#random = random;
    this.#primary = this.#begin({ term: 0, upAt: 0, former: undefined, kept: 0 });
  }

  getPrimary(): Reign {
    return this.#primary;
  }

  /** Calls a listener whenever a primary is up after an election. */
  onElection(listener: (primary: Reign) => void): void {
    this.#electionListeners.push(listener);
  }

  /** Whether there is a primary. */
  isUp(): boolean {
    return this.#primary.isUp();
  }

  /** The number of the election. */
  getTerm(): number {
    return this.#primary.term;
  }

  /** Loses the primary. What a majority does not have may be lost with it. */
  elect(downMs: number, losesUnreplicated: boolean): void {
    this.#elect(downMs, losesUnreplicated ? "some" : "nothing");
  }

  /**
   * Loses the primary, and what is not replicated then, once it has answered some reads of a collection;
   * undefined: it stays.
   */
  electAfterReads(awaited: AwaitedReads | undefined): void {
    this.#awaited = awaited;
  }

  /** Keeps commits from a majority for some time. */
  stallReplication(ms: number): void {
    this.#stalledUntil = this.#clock.getTime() + ms;
  }

  /** Change streams end, and cannot be opened, for some time. */
  failStreams(ms: number, code: number): void {
    Object.assign(this.#streams, { failUntil: this.#clock.getTime() + ms, code });
    this.#wake();
  }

  /** Change streams report nothing for some time. */
  delayStreams(ms: number): void {
    this.#streams.lagUntil = this.#clock.getTime() + ms;
  }

  readAll(collection: string): readonly Document[] {
    return this.#primary.readAll(collection);
  }

  /** The last commit that a majority has. */
  getMajority(): number {
    return this.#majority;
  }

  getLastCommit(): number {
    return this.#primary.getLastCommit();
  }

  observe(observer: ServerObserver): void {
    this.#observer = observer;
  }

  /** Waits until something has happened, at most for a time. */
  async #change(maxMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#waiting.push(resolve);
    const cancel = this.#clock.schedule(this.host, maxMs, () => {
      resolve(undefined);
    });
    await promise;
    cancel();
  }

  /** Continues what waits for a change. */
  #wake(): void {
    const resolvers = this.#waiting;
    this.#waiting = [];
    for (const resolve of resolvers)
      this.#clock.schedule(this.host, 0, () => {
        resolve(undefined);
      });
  }

  #begin(election: Pick<ReignOptions, "term" | "upAt" | "former" | "kept">): Reign {
    const { former, upAt } = election;
    const random = this.#random;
    const reign: Reign = new Reign({
      ...election,
      ...{ clock: this.#clock, host: this.host, options: this.options },
      ...{ indexes: this.#indexes, streams: this.#streams },
      change: (maxMs) => this.#change(maxMs),
      changed: () => {
        this.#wake();
      },
      countCommit: () => (this.#commits += 1),
      getMajority: () => this.#majority,
      getHistory: () => this.#history,
      onRead: (read) => {
        this.#observer.onRead(read);
        if (reign === this.#primary && read.collection === this.#awaited?.collection)
          this.#countRead(this.#awaited, read);
      },
      onCommit: (commit) => {
        this.#onCommit(reign, commit);
      },
      requireSettled: () => {
        if (this.#clock.getTime() < upAt + unsettledMs && random.chance(0.3)) {
          const code = random.pick(passingErrors);
          throw createError(code, `error ${code}`);
        }
      },
    });
    const unsettledMs = former !== undefined && random.chance(0.3) ? random.between(0, maxUnsettledMs) : 0;
    return reign;
  }

  #onCommit(reign: Reign, commit: Commit): void {
    if (reign !== this.#primary) {
      this.#observer.onLost?.(commit);
      return;
    }
    this.#history.push(commit);
    const awaited = this.#awaited;
    if (awaited?.unreplicated !== undefined && changesCollection(commit, awaited.collection))
      this.stallReplication(awaited.unreplicated.stallMs);
    this.#replicate(reign, commit.number);
    if (commit.changes.length > 0) this.#observer.onCommit(commit);
  }

  #replicate(reign: Reign, commit: number): void {
    if (!this.options.isReplicaSet) {
      this.#majority = commit;
      reign.forgetBefore(commit);
      return;
    }
    const stallMs = Math.max(0, this.#stalledUntil - this.#clock.getTime());
    this.#clock.schedule(this.host, stallMs + this.#random.next() * 3, () => {
      if (reign !== this.#primary || commit <= this.#majority) return;
      this.#majority = commit;
      reign.forgetBefore(commit);
      this.#wake();
    });
  }

  /** Tells the clients once the primary is up, and lets it commit something of its own. */
  #announce(reign: Reign, downMs: number): void {
    this.#clock.schedule(this.host, downMs, () => {
      if (reign !== this.#primary) return;
      if (this.options.isReplicaSet) reign.commitNothing();
      for (const listener of this.#electionListeners) listener(reign);
    });
  }

  /** The client that wrote what another one has just read, and a majority does not have. */
  #findWriter({ client, collection }: Read): Host | undefined {
    const unreplicated = this.#history.filter(
      (commit) => commit.number > this.#majority && changesCollection(commit, collection),
    );
    const writer = unreplicated.at(-1)?.client;
    return writer === client ? undefined : writer;
  }

  #countRead({ reads, ...rest }: AwaitedReads, read: Read): void {
    const writer = this.#findWriter(read);
    if (rest.unreplicated !== undefined && writer === undefined) return;
    this.#awaited = reads > 1 ? { reads: reads - 1, ...rest } : undefined;
    if (this.#awaited !== undefined) return;
    this.#clock.schedule(this.host, 0, () => {
      if (writer !== undefined) rest.unreplicated?.onElected(writer);
      this.#elect(rest.downMs, "all");
    });
  }

  /** The last commit that an election keeps. */
  #findKept(former: Reign, loss: Loss): number {
    const last = former.getLastCommit();
    if (!this.options.isReplicaSet || loss === "nothing") return last;
    const keepable = former.listCommits().filter((number) => number >= this.#majority);
    return keepable[loss === "all" ? 0 : this.#random.between(0, keepable.length)] ?? last;
  }

  #elect(downMs: number, loss: Loss): void {
    const random = this.#random;
    const now = this.#clock.getTime();
    const former = this.#primary;
    const last = former.getLastCommit();
    const kept = this.#findKept(former, loss);
    const survives = this.options.isReplicaSet && random.chance(0.4);
    const servesUntil =
      survives && former.isUp() ? now + random.between(0, random.pick([200, maxFormerMs])) : now;
    this.#primary = this.#begin({ term: former.term + 1, upAt: now + downMs, former, kept });
    former.depose({
      servesUntil,
      isAlive: survives,
      followsAgainAt: servesUntil + random.between(0, random.pick([500, maxBehindMs])),
      rollsBack: kept < last,
    });
    if (kept < last) {
      this.#history = this.#history.filter(({ number }) => number <= kept);
      this.#observer.onRollback(kept);
    }
    this.#announce(this.#primary, downMs);
    this.#wake();
  }
}

const changesCollection = ({ changes }: Commit, name: string): boolean =>
  changes.some(({ collection }) => collection === name);
