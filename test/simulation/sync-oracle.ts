/**
 * What must hold at every moment. It observes the store's commits and knows what each process was delivered; it shares no code
 * with the product. Each commit must be explained by the contract's table of announcements (test/unit/topics/model.ts).
 */
import { collections } from "../../src/storage/names.ts";
import { putInModel, type Model } from "../unit/topics/model.ts";
import type { Clock, Host } from "./clock.ts";
import { createLetterOracle } from "./dead-letter-oracle.ts";
import { createReportOracle } from "./report-oracle.ts";
import type { PartitionLog } from "./cluster/log.ts";
import type { Document } from "./mongo/documents.ts";
import type { Commit } from "./mongo/commands.ts";
import {
  describe,
  findFalseRetirement,
  findMove,
  findPositionChange,
  format,
  fromRecord,
  isAt,
  toCombination,
  toEffect,
  type Effect,
  type Move,
  type Position,
} from "./sync-changes.ts";
import {
  explain,
  findDifference,
  initial,
  type Counts,
  type Explanation,
  type FetchedRecords,
  type Range,
  type Version,
} from "./sync-explanation.ts";
import { derivePosition } from "./sync-derived.ts";
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
  /** Whether brokers can fetch by topic id. */
  readonly hasTopicIds: boolean;
  /** Who sets positions by hand. */
  readonly operator: Host;
  /** What the store has. */
  readonly readAll: (collection: string) => readonly Document[];
}

export type SyncOracle = ReturnType<typeof createOracle>;

export function createOracle(options: OracleOptions) {
  const { clock, getCurrentLog, isCut, hasTopicIds, operator } = options;
  let versions: Version[] = [initial];
  /** What each process was delivered, by partition. */
  const delivered = new Map<string, FetchedRecords[]>();
  /** The first commit that stored each sys_id over HTTP: a disabled topic is enabled under its own. */
  const createdBy = new Map<string, number>();
  /** By epoch: an epoch is that of one topic id for ever, also if an election loses what was stored of it. */
  const topicIds = new Map<number, string>();
  let checks = 0;

  const getLast = (): Version => versions.at(-1) ?? initial;

  function fail(message: string): never {
    throw new Violation(`${message} (at ${Math.round(clock.getTime())} ms)`);
  }

  const getDelivered = (host: Host, partition: number) => delivered.get(`${host.name}/${partition}`) ?? [];

  const letters = createLetterOracle({ getVersions: () => versions, getDelivered, fail });
  const reports = createReportOracle(fail);

  function checkBatch(commit: Commit, { partition, before, after }: Move): Version {
    const last = getLast();
    const isSameEpoch = before !== undefined && before.epoch === after.epoch;
    if (before !== undefined && (after.epoch < before.epoch || (isSameEpoch && after.offset < before.offset)))
      fail(`the position of partition ${partition} went back from ${format(before)} to ${format(after)}`);
    const range: Range = {
      partition,
      from: isSameEpoch || (before !== undefined && isSameLog(partition, before, after)) ? before.offset : 0,
      to: after.offset,
      epoch: after.epoch,
    };
    checkEpoch(after);
    const candidates = getDelivered(commit.client, partition).filter(
      ({ topicId, end }) => topicId === after.topicId && end >= after.offset,
    );
    const movedBy = last.movedBy.get(partition) ?? 0;

    letters.onMoved(commit.client, partition);
    const actual = toEffect(commit.changes);
    let closest: string | undefined;
    let explanation: Explanation | undefined;
    const counts: Counts[] = [];
    for (const version of versions.toReversed()) {
      if (version.commit < movedBy) break;
      for (const found of [...candidates.toReversed(), undefined]) {
        const attempt = explain(version, range, found);
        const problem =
          findDifference(version, attempt, actual) ??
          letters.findMissing(range, attempt) ??
          findLostRecord(range, attempt, after.topicId);
        closest ??= problem;
        if (problem !== undefined) continue;
        explanation ??= attempt;
        counts.push(attempt.counts);
      }
    }
    if (explanation !== undefined) {
      reports.onStored(commit.client, partition, { commit: commit.number, counts });
      return advance(last, commit, { partition, after, explanation, actual });
    }
    return fail(
      `the batch of partition ${partition} from ${before === undefined ? "the beginning" : format(before)} to ${format(after)}, ` +
        `stored by ${commit.client.name}, cannot be explained: ${closest ?? "nothing was delivered"}`,
    );
  }

  /** When one log of a topic loses its end, the others of the topic get another epoch, too, and continue at the same offset. */
  function isSameLog(partition: number, before: Position, after: Position): boolean {
    const isSameId = before.topicId === undefined || before.topicId === after.topicId;
    return hasTopicIds && isSameId && !options.wasCut(partition, after.topicId);
  }

  /** An epoch is never that of another topic id, and was stored as that of its topic before. */
  function checkEpoch({ epoch, topicId }: Position): void {
    if (!hasTopicIds) return;
    if (topicId === undefined) fail(`a position of epoch ${epoch} has no topic id`);
    const other = topicIds.get(epoch) ?? topicId;
    if (other !== topicId) fail(`the topics ${topicId} and ${other} have the epoch ${epoch}`);
    topicIds.set(epoch, topicId);
    const log = options.readAll(collections.logs).find((one) => one["kafka_topic_id"] === topicId);
    const allotted = (log?.["epoch"] as number | undefined) ?? 0;
    if (allotted < epoch) fail(`the epoch ${epoch} was not allotted to the topic ${topicId}`);
  }

  /** A record that can be read in the range, but was not applied. */
  function findLostRecord(
    { partition, from, to }: Range,
    { records }: Explanation,
    topicId: string | undefined,
  ): string | undefined {
    const applied = new Set(records.map(({ offset }) => offset));
    const current = getCurrentLog(partition);
    // What a topic lost when it was deleted cannot be read, and what comes after a loss has the offsets of what was lost.
    if (current === undefined || topicId !== current.topicId || isCut(current.log)) return undefined;
    const lost = current.log
      .readAll()
      .find(({ offset }) => offset >= from && offset < to && !applied.has(offset));
    return lost && `the record at offset ${lost.offset} was passed over`;
  }

  function advance(
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
        fail(`the sys_id of ${id} changed without a tombstone`);
    }
    return {
      ...withChanges(last, actual),
      commit: number,
      positions: new Map(last.positions).set(partition, after),
      movedBy: new Map(last.movedBy).set(partition, number),
    };
  }

  /** Where the position was lost, it must be derived from what is stored. Returns whether it is. */
  function requireDerived({ changes }: Commit, { partition, before, after }: Move): boolean {
    if (before !== undefined) return false;
    const derived = derivePosition(options.readAll, partition, changes);
    if (derived === undefined) return false;
    if (!isAt(after, derived) || after.topicId !== derived.topicId)
      fail(
        `the lost position of partition ${partition} became ${format(after)} of ${after.topicId ?? "no topic id"}, ` +
          `although what is stored ends at ${format(derived)} of ${derived.topicId ?? "no topic id"}`,
      );
    return true;
  }

  /** The next batch must begin at a position that somebody set or removed, or that was derived. */
  function startAt(commit: number, partition: number, position: Position | undefined): Version {
    const last = getLast();
    const positions = new Map(last.positions);
    if (position === undefined) positions.delete(partition);
    else positions.set(partition, position);
    return { ...last, commit, positions, movedBy: new Map(last.movedBy).set(partition, commit) };
  }

  /** What users do over HTTP. */
  function checkOperation({ number, changes }: Commit): Version {
    const last = getLast();
    const actual = toEffect(changes);
    for (const [id, { topic, sysId }] of actual.topics) {
      if (topic === undefined) {
        if (last.topics.get(id)?.owner === "channel") fail(`the topic ${id} of the channel was disabled`);
        continue;
      }
      if (topic.owner !== "http") fail(`the topic ${id} changed without a move of its position`);
      if (last.topics.has(id)) fail(`the topic ${id} was replaced over HTTP`);
      if (sysId !== undefined && !createdBy.has(sysId)) createdBy.set(sysId, number);
    }
    if (actual.retired.size > 0) fail("a topic was retired by the channel without a move of its position");
    return { ...withChanges(last, actual), commit: number };
  }

  /** Returns what is stored after a commit; undefined where nothing that counts has changed. */
  function checkCommit(commit: Commit): Version | undefined {
    const { number, client, changes } = commit;
    const touches = (name: string): boolean => changes.some(({ collection }) => collection === name);
    if (client === operator) {
      const changed = findPositionChange(changes);
      return changed && startAt(number, changed.partition, changed.after);
    }
    const absent = findFalseRetirement(changes, (sysId) => createdBy.has(sysId));
    if (absent !== undefined) fail(`the topic ${absent} was retired, although it was not there`);
    const move = findMove(changes);
    if (move !== undefined)
      return requireDerived(commit, move)
        ? startAt(number, move.partition, move.after)
        : checkBatch(commit, move);
    return touches(collections.topics) || touches(collections.retiredTopics)
      ? checkOperation(commit)
      : undefined;
  }

  function withChanges(last: Version, actual: Effect): Version {
    const model: Model = {
      topics: new Map(last.topics),
      holders: new Map(last.holders),
      retired: [],
      rejected: [],
    };
    const ids = new Map(last.ids);
    // Removed first: a combination may pass from one topic to another.
    for (const id of actual.topics.keys()) {
      const before = model.topics.get(id);
      model.topics.delete(id);
      ids.delete(id);
      if (before !== undefined) model.holders.delete(toCombination(before));
    }
    for (const [id, { topic, sysId }] of actual.topics) {
      if (topic === undefined) continue;
      const holder = model.holders.get(toCombination(topic));
      if (holder !== undefined) fail(`${id} and ${holder} have the same combination`);
      putInModel(model, topic);
      if (sysId !== undefined) ids.set(id, sysId);
    }
    return { ...last, topics: model.topics, holders: model.holders, ids };
  }

  return {
    letters,

    onDelivered(host: Host, partition: number, fetched: FetchedRecords): void {
      const key = `${host.name}/${partition}`;
      // kafkajs fetches the same again and again when the leader moves while it processes a batch.
      const others = (delivered.get(key) ?? []).filter((one) => !isSameFetch(one, fetched));
      delivered.set(key, [...others, fetched].slice(-keptViews));
    },

    onCommit(commit: Commit): void {
      checks += 1;
      const version = checkCommit(commit);
      if (version !== undefined) versions.push(version);
      if (versions.length > 2 * keptVersions) versions = versions.slice(-keptVersions);
    },

    onRollback(lastKept: number): void {
      versions = versions.filter(({ commit }) => commit <= lastKept);
      reports.onRollback(lastKept);
      for (const [id, commit] of createdBy) if (commit > lastKept) createdBy.delete(id);
    },

    onReported(host: Host, partition: number, counts: Counts): void {
      checks += 1;
      reports.onReported(host, partition, counts);
    },

    /** Checks an acknowledged request: the topic is stored on a majority. */
    onCreated(sysId: string, majority: number): void {
      const commit = createdBy.get(sysId);
      if (commit === undefined || commit > majority)
        fail(
          `the topic ${sysId} was acknowledged, but ${commit === undefined ? "is not stored" : "may be lost"}`,
        );
    },

    /** Checks an acknowledged request: the topic was active, or was not, at some moment since the call. */
    onSwitched(externalId: string, isActive: boolean, during: { from: number; majority: number }): void {
      const first = versions.findLastIndex(({ commit }) => commit <= during.from);
      const held = versions
        .slice(Math.max(first, 0))
        .some(({ commit, topics }) => commit <= during.majority && topics.has(externalId) === isActive);
      if (!held)
        fail(
          `the topic ${externalId} was acknowledged as ${isActive ? "enabled" : "disabled"}, but may not be`,
        );
    },

    /** What is stored must be what the last version says. */
    compare(stored: readonly Document[]): void {
      const { topics } = getLast();
      const texts = new Map(
        stored.map((record) => [record["topic_id"] as string, describe(fromRecord(record))]),
      );
      for (const id of new Set([...texts.keys(), ...topics.keys()]))
        if ((texts.get(id) ?? describe(undefined)) !== describe(topics.get(id)))
          fail(`the topic ${id} is stored as ${texts.get(id) ?? "nothing"}`);
    },

    /** A position without a topic id counts for the log that is there. */
    isInLog(partition: number, { topicId }: IdentifiedLog): boolean {
      const position = getLast().positions.get(partition);
      return position !== undefined && (position.topicId ?? topicId) === topicId;
    },
    countChecks: () => checks,
  };
}

const isSameFetch = (one: FetchedRecords, other: FetchedRecords): boolean =>
  one.log === other.log &&
  one.from === other.from &&
  one.end === other.end &&
  one.records.length === other.records.length &&
  one.records.every((record, index) => record === other.records[index]);
