/**
 * What must hold at every moment. It observes the store's commits and knows what each process was delivered;
 * it shares no code with the product. Each commit must be explained by the contract's table of announcements
 * (test/unit/topics/model.ts).
 */
import { collections } from "../../src/storage/names.ts";
import type { Clock, Commit, Document, Host, PartitionLog } from "../simulated-servers/index.ts";
import { createLetterOracle } from "./dead-letter-oracle.ts";
import { createReportOracle } from "./report-oracle.ts";
import {
  describe,
  findFalseRetirement,
  findMove,
  findPositionChange,
  format,
  fromRecord,
  isAt,
  toEffect,
  type Effect,
  type Move,
  type Position,
} from "./sync-changes.ts";
import {
  applyEffect,
  explain,
  findDifference,
  initial,
  isSameFetch,
  type Counts,
  type Explanation,
  type FetchedRecords,
  type Range,
  type Version,
} from "./sync-explanation.ts";
import { derivePosition } from "./sync-derived.ts";
import { HistoryOracle } from "./sync-history.ts";
import { OperationOracle } from "./sync-operation-oracle.ts";
import { RetirementOracle } from "./sync-retirements.ts";
import type { IdentifiedLog } from "./sync-topic.ts";
import { Violation } from "./violation.ts";

const keptVersions = 300;
const keptViews = 32;

export interface OracleOptions {
  readonly clock: Clock;
  /** Undefined while the topic is deleted. */
  readonly getCurrentLog: (partition: number) => IdentifiedLog | undefined;
  /** Whether a log lost its end. */
  readonly isCut: (log: PartitionLog) => boolean;
  /** Whether the log of a topic in a partition lost its end. */
  readonly wasCut: (partition: number, topicId: string | undefined) => boolean;
  /** Whether only a person can say where in the second topic reading goes on after the first one. */
  readonly needsDecision: (from: string | undefined, to: string | undefined, partition: number) => boolean;
  /** Whether brokers can fetch by topic id. */
  readonly hasTopicIds: boolean;
  /** Who sets positions by hand. */
  readonly operator: Host;
  /** What the store has. */
  readonly readAll: (collection: string) => readonly Document[];
}

export class SyncOracle {
  readonly #options: OracleOptions;
  readonly letters: ReturnType<typeof createLetterOracle>;
  readonly history: HistoryOracle;
  readonly operations: OperationOracle;
  readonly retirements: RetirementOracle;
  readonly #reports: ReturnType<typeof createReportOracle>;
  #versions: Version[] = [initial];
  /** What each process was delivered, by partition. */
  readonly #delivered = new Map<string, FetchedRecords[]>();
  /** By epoch: an epoch is that of one topic id for ever, also if an election loses what was stored of it. */
  readonly #topicIds = new Map<number, string>();
  #checks = 0;

  constructor(options: OracleOptions) {
    this.#options = options;
    const fail = (message: string): never => this.#fail(message);
    this.letters = createLetterOracle({
      getVersions: () => this.#versions,
      getDelivered: (host, partition) => this.#getDelivered(host, partition),
      fail,
    });
    this.#reports = createReportOracle(fail);
    this.history = new HistoryOracle(fail);
    this.retirements = new RetirementOracle(fail);
    this.operations = new OperationOracle({ listVersions: (from) => this.#listVersions(from), fail });
  }

  onDelivered(host: Host, partition: number, fetched: FetchedRecords): void {
    const key = `${host.name}/${partition}`;
    // kafkajs fetches the same again and again when the leader moves while it processes a batch.
    const others = (this.#delivered.get(key) ?? []).filter((one) => !isSameFetch(one, fetched));
    this.#delivered.set(key, [...others, fetched].slice(-keptViews));
  }

  onCommit(commit: Commit): void {
    this.#checks += 1;
    const version = this.#checkCommit(commit);
    this.history.onCommit(commit);
    this.retirements.onCommit(commit);
    if (version !== undefined) this.#versions.push(version);
    if (this.#versions.length > 2 * keptVersions) this.#versions = this.#versions.slice(-keptVersions);
  }

  onRollback(lastKept: number): void {
    this.#versions = this.#versions.filter(({ commit }) => commit <= lastKept);
    this.#reports.onRollback(lastKept);
    this.history.onRollback(lastKept);
    this.retirements.onRollback(lastKept);
    this.operations.onRollback(lastKept);
  }

  onReported(host: Host, partition: number, counts: Counts): void {
    this.#checks += 1;
    this.#reports.onReported(host, partition, counts);
  }

  /** Checks an acknowledged request: the topic was active, or was not, at some moment since the call. */
  onSwitched(externalId: string, isActive: boolean, during: { from: number; majority: number }): void {
    const held = this.#listVersions(during.from).some(
      ({ commit, topics }) => commit <= during.majority && topics.has(externalId) === isActive,
    );
    if (!held)
      this.#fail(
        `the topic ${externalId} was acknowledged as ${isActive ? "enabled" : "disabled"}, but may not be`,
      );
  }

  /** What is stored must be what the last version says. */
  compare(stored: readonly Document[]): void {
    const { topics } = this.#getLast();
    const texts = new Map(
      stored.map((record) => [record["topic_id"] as string, describe(fromRecord(record))]),
    );
    for (const id of new Set([...texts.keys(), ...topics.keys()]))
      if ((texts.get(id) ?? describe(undefined)) !== describe(topics.get(id)))
        this.#fail(`the topic ${id} is stored as ${texts.get(id) ?? "nothing"}`);
    this.history.compare(this.#options.readAll);
  }

  /** A position without a topic id counts for the log that is there. */
  isInLog(partition: number, { topicId }: IdentifiedLog): boolean {
    const position = this.#getLast().positions.get(partition);
    return position !== undefined && (position.topicId ?? topicId) === topicId;
  }

  countChecks(): number {
    return this.#checks;
  }

  /** The versions that were stored at a commit and since. */
  #listVersions(from: number): readonly Version[] {
    const first = this.#versions.findLastIndex(({ commit }) => commit <= from);
    return this.#versions.slice(Math.max(first, 0));
  }

  #getLast(): Version {
    return this.#versions.at(-1) ?? initial;
  }

  #fail(message: string): never {
    throw new Violation(`${message} (at ${Math.round(this.#options.clock.getTime())} ms)`);
  }

  #getDelivered(host: Host, partition: number): readonly FetchedRecords[] {
    return this.#delivered.get(`${host.name}/${partition}`) ?? [];
  }

  #checkBatch(commit: Commit, { partition, before, after }: Move): Version {
    const last = this.#getLast();
    const isSameEpoch = before !== undefined && before.epoch === after.epoch;
    if (before !== undefined && (after.epoch < before.epoch || (isSameEpoch && after.offset < before.offset)))
      this.#fail(
        `the position of partition ${partition} went back from ${format(before)} to ${format(after)}`,
      );
    if (this.#options.needsDecision(before?.topicId, after.topicId, partition))
      this.#fail(
        `the position of partition ${partition} moves from topic ${before?.topicId ?? ""} to ${after.topicId ?? ""} in another cluster, which nobody decided`,
      );
    const range: Range = {
      partition,
      from:
        isSameEpoch || (before !== undefined && this.#isSameLog(partition, before, after))
          ? before.offset
          : 0,
      to: after.offset,
      epoch: after.epoch,
    };
    this.#checkEpoch(after);
    const candidates = this.#getDelivered(commit.client, partition).filter(
      ({ topicId, end }) => topicId === after.topicId && end >= after.offset,
    );
    const movedBy = last.movedBy.get(partition) ?? 0;

    this.letters.onMoved(commit.client, partition);
    const actual = toEffect(commit.changes);
    let closest: string | undefined;
    let explanation: Explanation | undefined;
    const counts: Counts[] = [];
    for (const version of this.#versions.toReversed()) {
      if (version.commit < movedBy) break;
      for (const found of [...candidates.toReversed(), undefined]) {
        const attempt = explain(version, range, found);
        const problem =
          findDifference(version, attempt, actual) ??
          this.letters.findMissing(range, attempt) ??
          this.#findLostRecord(range, attempt, after.topicId);
        closest ??= problem;
        if (problem !== undefined) continue;
        explanation ??= attempt;
        counts.push(attempt.counts);
      }
    }
    if (explanation !== undefined) {
      this.#reports.onStored(commit.client, partition, { commit: commit.number, counts });
      return this.#advance(last, commit, { partition, after, explanation, actual });
    }
    return this.#fail(
      `the batch of partition ${partition} from ${before === undefined ? "the beginning" : format(before)} to ${format(after)}, ` +
        `stored by ${commit.client.name}, cannot be explained: ${closest ?? "nothing was this.#delivered"}`,
    );
  }

  /**
   * When one log of a topic loses its end, the others of the topic get another epoch, too, and continue at
   * the same offset.
   */
  #isSameLog(partition: number, before: Position, after: Position): boolean {
    const isSameId = before.topicId === undefined || before.topicId === after.topicId;
    return this.#options.hasTopicIds && isSameId && !this.#options.wasCut(partition, after.topicId);
  }

  /** An epoch is never that of another topic id, and was stored as that of its topic before. */
  #checkEpoch({ epoch, topicId }: Position): void {
    if (!this.#options.hasTopicIds) return;
    if (topicId === undefined) this.#fail(`a position of epoch ${epoch} has no topic id`);
    const other = this.#topicIds.get(epoch) ?? topicId;
    if (other !== topicId) this.#fail(`the topics ${topicId} and ${other} have the epoch ${epoch}`);
    this.#topicIds.set(epoch, topicId);
    const log = this.#options.readAll(collections.logs).find((one) => one["kafka_topic_id"] === topicId);
    const allotted = (log?.["epoch"] as number | undefined) ?? 0;
    if (allotted < epoch) this.#fail(`the epoch ${epoch} was not allotted to the topic ${topicId}`);
  }

  /** A record that can be read in the range, but was not applied. */
  #findLostRecord(
    { partition, from, to }: Range,
    { records }: Explanation,
    topicId: string | undefined,
  ): string | undefined {
    const applied = new Set(records.map(({ offset }) => offset));
    const current = this.#options.getCurrentLog(partition);
    // What a topic lost when it was deleted cannot be read, and what comes after a loss has the offsets of
    // what was lost.
    if (current === undefined || topicId !== current.topicId || this.#options.isCut(current.log))
      return undefined;
    const lost = current.log
      .readAll()
      .find(({ offset }) => offset >= from && offset < to && !applied.has(offset));
    return lost && `the record at offset ${lost.offset} was passed over`;
  }

  #advance(
    last: Version,
    { number }: Commit,
    batch: { partition: number; after: Position; explanation: Explanation; actual: Effect },
  ): Version {
    const { partition, after, explanation, actual } = batch;
    const { model } = explanation;
    const retired = new Set(model.retired.map(({ topic }) => topic.externalId));
    for (const [id, { sysId }] of actual.topics) {
      const before = last.ids.get(id);
      if (before !== undefined && sysId !== undefined && before !== sysId && !retired.has(id))
        this.#fail(`the sys_id of ${id} changed without a tombstone`);
    }
    return {
      ...applyEffect(last, actual, (message) => this.#fail(message)),
      commit: number,
      positions: new Map(last.positions).set(partition, after),
      movedBy: new Map(last.movedBy).set(partition, number),
    };
  }

  /** Where the position was lost, it must be derived from what is stored. Returns whether it is. */
  #requireDerived({ changes }: Commit, { partition, before, after }: Move): boolean {
    if (before !== undefined) return false;
    const derived = derivePosition(this.#options.readAll, partition, changes);
    if (derived === undefined) return false;
    if (!isAt(after, derived) || after.topicId !== derived.topicId)
      this.#fail(
        `the lost position of partition ${partition} became ${format(after)} of ${after.topicId ?? "no topic id"}, ` +
          `although what is stored ends at ${format(derived)} of ${derived.topicId ?? "no topic id"}`,
      );
    return true;
  }

  /** The next batch must begin at a position that somebody set or removed, or that was derived. */
  #startAt(commit: number, partition: number, position: Position | undefined): Version {
    const last = this.#getLast();
    const before = last.positions.get(partition);
    const positions = new Map(last.positions);
    if (position === undefined) positions.delete(partition);
    else positions.set(partition, position);
    // A batch that begins there may have been decided before.
    const isSame = before !== undefined && position !== undefined && isAt(before, position);
    if (isSame && before.topicId === position.topicId) return { ...last, commit, positions };
    return { ...last, commit, positions, movedBy: new Map(last.movedBy).set(partition, commit) };
  }

  /** Returns what is stored after a commit; undefined where nothing that counts has changed. */
  #checkCommit(commit: Commit): Version | undefined {
    const { number, client, changes } = commit;
    const touches = (name: string): boolean => changes.some(({ collection }) => collection === name);
    if (client === this.#options.operator) {
      const changed = findPositionChange(changes);
      return changed && this.#startAt(number, changed.partition, changed.after);
    }
    const absent = findFalseRetirement(changes, (sysId) => this.operations.wasStored(sysId));
    if (absent !== undefined) this.#fail(`the topic ${absent} was retired, although it was not there`);
    const move = findMove(changes);
    if (move !== undefined)
      return this.#requireDerived(commit, move)
        ? this.#startAt(number, move.partition, move.after)
        : this.#checkBatch(commit, move);
    return touches(collections.topics) || touches(collections.retiredTopics)
      ? this.operations.check(commit, this.#getLast())
      : undefined;
  }
}
