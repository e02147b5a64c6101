/**
 * What must hold at every moment. It observes the store's commits and knows what each process was delivered; it shares no code
 * with the product. Each commit must be explained by the contract's table of announcements (test/unit/topics/model.ts).
 */
import { deadLetterHeader } from "../../schemas/dead-letter.ts";
import { collections } from "../../src/storage/names.ts";
import type { OutgoingRecord } from "../../src/sync/records.ts";
import {
  applyOneToModel,
  putInModel,
  type Model,
  type ModelAnnouncement,
  type ModelTopic,
} from "../unit/topics/model.ts";
import type { Clock, Host } from "./clock.ts";
import type { Delivery } from "./kafka/client.ts";
import type { PartitionLog, StoredRecord } from "./kafka/log.ts";
import type { Document } from "./mongo/documents.ts";
import type { Change, Commit, Read } from "./mongo/server.ts";
import { Violation } from "./violation.ts";

interface Position {
  readonly offset: number;
  readonly epoch: number;
}

/** Everything that was stored after a commit. */
interface Version {
  readonly commit: number;
  readonly topics: ReadonlyMap<string, ModelTopic>;
  readonly holders: ReadonlyMap<string, string>;
  /** The sys_id of each stored topic. */
  readonly ids: ReadonlyMap<string, string>;
  readonly positions: ReadonlyMap<number, Position>;
  /** The commit that moved the position of a partition last. */
  readonly movedBy: ReadonlyMap<number, number>;
  /** Which log each epoch of a partition is, by `partition/epoch`. */
  readonly logOfEpoch: ReadonlyMap<string, PartitionLog>;
}

const initial: Version = {
  commit: 0,
  topics: new Map(),
  holders: new Map(),
  ids: new Map(),
  positions: new Map(),
  movedBy: new Map(),
  logOfEpoch: new Map(),
};

type Counts = Readonly<Record<string, number>>;

/** A stored batch that its process has not reported yet. */
interface UnreportedBatch {
  readonly commit: number;
  readonly counts: readonly Counts[];
}

/** An attempt to explain a batch. */
interface Explanation {
  readonly model: Model;
  readonly counts: Counts;
  readonly records: readonly StoredRecord[];
  readonly log: PartitionLog | undefined;
}

/** Of a partition without a position. */
const beginning: Position = { offset: 0, epoch: 1 };
const keptVersions = 300;
const keptViews = 8;
/** Offsets of a later epoch are later. */
const epochSize = 1_000_000;

export interface OracleOptions {
  readonly clock: Clock;
  readonly getCurrentLog: (partition: number) => PartitionLog;
}

export function createOracle(options: OracleOptions) {
  const { clock, getCurrentLog } = options;
  let versions: Version[] = [initial];
  /** What each process was delivered, by partition. */
  const delivered = new Map<string, FetchedRecords[]>();
  /** The codes of the dead letters of a record, by `partition/epoch/offset`. */
  const letters = new Map<string, Set<string>>();
  /** By process and partition, in order. */
  const unreported = new Map<string, readonly UnreportedBatch[]>();
  /** Where each process found the position unmoved, by process and partition. */
  const checkedPositions = new Map<string, Position>();
  /** The commit that stored each sys_id over HTTP. */
  const createdBy = new Map<string, number>();
  let checks = 0;

  const getLast = (): Version => versions.at(-1) ?? initial;

  function fail(message: string): never {
    throw new Violation(`${message} (at ${Math.round(clock.getTime())} ms)`);
  }

  const getDelivered = (host: Host, partition: number) => delivered.get(`${host.name}/${partition}`) ?? [];

  /** What the records of a range do to a version, by the contract. */
  function explain(
    version: Version,
    range: { partition: number; from: number; to: number; epoch: number },
    found: FetchedRecords | undefined,
  ): Explanation {
    const records = [...(found?.records.values() ?? [])]
      .filter(({ offset }) => offset >= range.from && offset < range.to)
      .toSorted((a, b) => a.offset - b.offset);
    const model: Model = {
      topics: new Map(version.topics),
      holders: new Map(version.holders),
      retired: [],
      rejected: [],
    };
    const counts: Record<string, number> = {};
    for (const record of records) {
      const offset = (range.epoch - 1) * epochSize + record.offset;
      const outcome = applyOneToModel(model, toAnnouncement(record, offset));
      const kind = typeof outcome === "string" ? outcome : "rejected";
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    return { model, counts, records, log: found?.log };
  }

  function checkBatch(
    commit: Commit,
    move: { partition: number; before: Position | undefined; after: Position },
  ): Version {
    const { partition, before, after } = move;
    const last = getLast();
    const isSameEpoch = before !== undefined && before.epoch === after.epoch;
    if (before !== undefined && (after.epoch < before.epoch || (isSameEpoch && after.offset < before.offset)))
      fail(`the position of partition ${partition} went back from ${format(before)} to ${format(after)}`);
    const range = { partition, from: isSameEpoch ? before.offset : 0, to: after.offset, epoch: after.epoch };
    const epochKey = `${partition}/${after.epoch}`;
    const known = last.logOfEpoch.get(epochKey);
    const candidates = getDelivered(commit.client, partition).filter(({ log }) =>
      mayBe(log, known, range.from),
    );
    const movedBy = last.movedBy.get(partition) ?? 0;

    checkedPositions.delete(`${commit.client.name}/${partition}`);
    const actual = toEffect(commit.changes);
    let closest: string | undefined;
    let explanation: Explanation | undefined;
    /** Several versions may explain the same changes, with other outcomes of single records. */
    const counts: Counts[] = [];
    for (const version of versions.toReversed()) {
      if (version.commit < movedBy) break;
      for (const found of [...candidates.toReversed(), undefined]) {
        const attempt = explain(version, range, found);
        const problem =
          findDifference(version, attempt, actual) ??
          findMissingLetter(range, attempt) ??
          findLostRecord(range, attempt, known);
        closest ??= problem;
        if (problem !== undefined) continue;
        explanation ??= attempt;
        counts.push(attempt.counts);
      }
    }
    if (explanation !== undefined) {
      const key = `${commit.client.name}/${partition}`;
      unreported.set(key, [...(unreported.get(key) ?? []), { commit: commit.number, counts }]);
      return advance(last, commit, { partition, after, epochKey, explanation, actual });
    }
    return fail(
      `the batch of partition ${partition} from ${before === undefined ? "the beginning" : format(before)} to ${format(after)}, ` +
        `stored by ${commit.client.name}, cannot be explained: ${closest ?? "nothing was delivered"}`,
    );
  }

  /** A record that can be read in the range, but was not applied. */
  function findLostRecord(
    { partition, from, to }: { partition: number; from: number; to: number },
    { records, log }: Explanation,
    known: PartitionLog | undefined,
  ): string | undefined {
    const applied = new Set(records.map(({ offset }) => offset));
    const current = getCurrentLog(partition);
    // What a topic lost when it was deleted cannot be read.
    if ((log ?? known ?? current) !== current) return undefined;
    const lost = current
      .readAll()
      .find(({ offset }) => offset >= from && offset < to && !applied.has(offset));
    return lost && `the record at offset ${lost.offset} was passed over`;
  }

  /** A rejected record without a dead letter. */
  function findMissingLetter(
    { partition, epoch }: { partition: number; epoch: number },
    { model }: Explanation,
  ): string | undefined {
    const missing = model.rejected.find(
      ({ offset, code }) => letters.get(`${partition}/${epoch}/${offset % epochSize}`)?.has(code) !== true,
    );
    return (
      missing &&
      `the record at offset ${missing.offset % epochSize} was rejected as ${missing.code} without a dead letter`
    );
  }

  function findDifference(version: Version, { model }: Explanation, actual: Effect): string | undefined {
    const expected = new Map<string, string>();
    for (const id of new Set([...version.topics.keys(), ...model.topics.keys()])) {
      const after = describe(model.topics.get(id));
      if (after !== describe(version.topics.get(id))) expected.set(id, after);
    }
    for (const id of new Set([...expected.keys(), ...actual.topics.keys()])) {
      const stored = actual.topics.get(id)?.text ?? describe(version.topics.get(id));
      const wanted = expected.get(id) ?? describe(version.topics.get(id));
      if (stored !== wanted) return `the topic ${id} became ${stored} instead of ${wanted}`;
    }
    const retired = new Set(model.retired.map(({ topic, offset }) => `${topic.externalId}@${offset}`));
    for (const one of retired) if (!actual.retired.has(one)) return `${one} was not retired`;
    for (const one of actual.retired) if (!retired.has(one)) return `${one} was retired`;
    return undefined;
  }

  function advance(
    last: Version,
    { number }: Commit,
    batch: { partition: number; after: Position; epochKey: string; explanation: Explanation; actual: Effect },
  ): Version {
    const { partition, after, epochKey, explanation, actual } = batch;
    const { model, records, log } = explanation;
    const retired = new Set(model.retired.map(({ topic }) => topic.externalId));
    for (const [id, { sysId }] of actual.topics) {
      const before = last.ids.get(id);
      if (before !== undefined && sysId !== undefined && before !== sysId && !retired.has(id))
        fail(`the sys_id of ${id} changed without a tombstone`);
    }
    const isLogKnown = log !== undefined && records.length > 0;
    for (const [name, other] of last.logOfEpoch)
      if (isLogKnown && other === log && name.startsWith(`${partition}/`) && name !== epochKey)
        fail(
          `the log of epoch ${name.split("/")[1] ?? ""} of partition ${partition} was read again as epoch ${after.epoch}`,
        );
    return {
      ...withChanges(last, actual),
      commit: number,
      positions: new Map(last.positions).set(partition, after),
      movedBy: new Map(last.movedBy).set(partition, number),
      logOfEpoch: isLogKnown ? new Map(last.logOfEpoch).set(epochKey, log) : last.logOfEpoch,
    };
  }

  /** What users do over HTTP. */
  function checkOperation({ number, changes }: Commit): Version {
    const last = getLast();
    const actual = toEffect(changes);
    for (const [id, { topic, sysId }] of actual.topics) {
      if (topic === undefined) continue;
      if (topic.owner !== "http") fail(`the topic ${id} changed without a move of its position`);
      if (last.topics.has(id)) fail(`the topic ${id} was replaced over HTTP`);
      if (sysId !== undefined) createdBy.set(sysId, number);
    }
    if (actual.retired.size > 0) fail("a topic was retired by the channel without a move of its position");
    return { ...withChanges(last, actual), commit: number };
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

  function toEffect(changes: readonly Change[]): Effect {
    const topics = new Map<string, ChangedTopic>();
    const retired = new Set<string>();
    for (const { collection, before, after } of changes) {
      if (collection === collections.topics) {
        if (before !== undefined && !topics.has(before["topic_id"] as string))
          topics.set(before["topic_id"] as string, {
            topic: undefined,
            sysId: undefined,
            text: describe(undefined),
          });
        if (after !== undefined) {
          const topic = fromRecord(after);
          topics.set(topic.externalId, { topic, sysId: after["_id"] as string, text: describe(topic) });
        }
      } else if (collection === collections.retiredTopics && after !== undefined) {
        const by = after["retired_by"] as StoredSource;
        if (by.kind === "announcement") retired.add(`${String(after["topic_id"])}@${toOffset(by)}`);
      }
    }
    return { topics, retired };
  }

  return {
    onDelivered({ host, partition, log, sequence, records }: Delivery): void {
      const key = `${host.name}/${partition}`;
      const known = delivered.get(key) ?? [];
      delivered.set(key, known);
      let view = known.at(-1);
      // After a seek nothing of what was fetched before is used, but for a write that is under way.
      if (view?.log !== log || view.sequence !== sequence) {
        view = { log, sequence, records: new Map() };
        known.push(view);
        if (known.length > keptViews) known.shift();
      }
      for (const record of records) view.records.set(record.offset, record);
    },

    onCommit(commit: Commit): void {
      checks += 1;
      const move = findMove(commit.changes);
      const touchesTopics = commit.changes.some(
        ({ collection }) => collection === collections.topics || collection === collections.retiredTopics,
      );
      if (move === undefined && !touchesTopics) return;
      versions.push(move === undefined ? checkOperation(commit) : checkBatch(commit, move));
      if (versions.length > 2 * keptVersions) versions = versions.slice(-keptVersions);
    },

    onRollback(lastKept: number): void {
      versions = versions.filter(({ commit }) => commit <= lastKept);
      for (const [key, batches] of unreported)
        unreported.set(
          key,
          batches.filter(({ commit }) => commit <= lastKept),
        );
      for (const [id, commit] of createdBy) if (commit > lastKept) createdBy.delete(id);
    },

    onRead({ client, collection, filter, found }: Read): void {
      if (collection !== collections.positions || !("next_offset" in filter)) return;
      const { partition } = filter["_id"] as { readonly partition: number };
      const key = `${client.name}/${partition}`;
      if (found.length === 0) checkedPositions.delete(key);
      else checkedPositions.set(key, toPosition(filter) ?? beginning);
    },

    /** Each dead letter must be explained by what was stored when its batch was decided. */
    onSending(host: Host, records: readonly OutgoingRecord[]): void {
      for (const { headers } of records) {
        checks += 1;
        const partition = Number(headers[deadLetterHeader.partition]);
        const offset = Number(headers[deadLetterHeader.offset]);
        const epoch = Number(headers[deadLetterHeader.epoch]);
        const code = String(headers[deadLetterHeader.code]);
        const checked = checkedPositions.get(`${host.name}/${partition}`);
        if (checked === undefined)
          fail(
            `${host.name} sent a dead letter for ${partition}/${epoch}/${offset} without a look at the position`,
          );
        const from = checked.epoch === epoch ? checked.offset : 0;
        const range = { partition, from, to: offset + 1, epoch };
        const isExplained = versions
          .filter(({ positions }) => isAt(positions.get(partition), checked))
          .some((version) =>
            getDelivered(host, partition).some((found) =>
              explain(version, range, found).model.rejected.some(
                (one) => one.offset === (epoch - 1) * epochSize + offset && one.code === code,
              ),
            ),
          );
        if (!isExplained)
          fail(
            `${host.name} sent a dead letter for ${partition}/${epoch}/${offset} as ${code}, which nothing stored at ` +
              `the position ${format(checked)} calls for`,
          );
      }
    },

    onDeadLetters(records: readonly OutgoingRecord[]): void {
      for (const { headers } of records) {
        const [partition, epoch, offset] = [
          deadLetterHeader.partition,
          deadLetterHeader.epoch,
          deadLetterHeader.offset,
        ].map((name) => String(headers[name]));
        const key = `${partition}/${epoch}/${offset}`;
        letters.set(key, (letters.get(key) ?? new Set()).add(String(headers[deadLetterHeader.code])));
      }
    },

    /** What a process reports must have been stored by it, and is reported once, in order. */
    onReported(host: Host, partition: number, counts: Counts): void {
      checks += 1;
      const key = `${host.name}/${partition}`;
      const batches = unreported.get(key) ?? [];
      const index = batches.findIndex((batch) => batch.counts.some((one) => isSameCount(one, counts)));
      if (index === -1)
        fail(
          `${host.name} reported a batch of partition ${partition} that it did not store: ${JSON.stringify(counts)}`,
        );
      unreported.set(key, batches.slice(index + 1));
    },

    /** A user was told that the topic is stored. */
    onCreated(sysId: string, majority: number): void {
      const commit = createdBy.get(sysId);
      if (commit === undefined || commit > majority)
        fail(
          `the topic ${sysId} was acknowledged, but ${commit === undefined ? "is not stored" : "may be lost"}`,
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

    getLogOfPosition(partition: number): PartitionLog | undefined {
      const { positions, logOfEpoch } = getLast();
      return logOfEpoch.get(`${partition}/${positions.get(partition)?.epoch ?? 1}`);
    },
    countChecks: () => checks,
  };
}

/**
 * Whether records of a log may belong to an epoch whose log is known: another log continues it, if it has nothing before the
 * position. Nothing is lost then, and nothing shows the difference.
 */
const mayBe = (log: PartitionLog, known: PartitionLog | undefined, from: number): boolean =>
  known === undefined ||
  log === known ||
  (log.id > known.id && !log.readAll().some(({ offset }) => offset < from));

/** What was fetched one after another, without a seek. */
interface FetchedRecords {
  readonly log: PartitionLog;
  readonly sequence: object;
  readonly records: Map<number, StoredRecord>;
}

interface ChangedTopic {
  /** Undefined: it is gone. */
  readonly topic: ModelTopic | undefined;
  readonly sysId: string | undefined;
  readonly text: string;
}

interface Effect {
  readonly topics: ReadonlyMap<string, ChangedTopic>;
  /** `externalId@offset` of the tombstones. */
  readonly retired: ReadonlySet<string>;
}

interface StoredSource {
  readonly kind: "http" | "announcement";
  readonly offset: number;
  readonly epoch?: number;
}

const format = ({ offset, epoch }: Position): string => `${offset} of epoch ${epoch}`;

const describe = (topic: ModelTopic | undefined): string =>
  topic === undefined ? "absent" : `${topic.owner} ${topic.offset} ${toCombination(topic)}`;

const toCombination = ({ name, namespace, headerQuery, contentQuery }: ModelTopic): string =>
  JSON.stringify([name, namespace, headerQuery, contentQuery]);

const toOffset = ({ offset, epoch = 1 }: StoredSource): number => (epoch - 1) * epochSize + offset;

function fromRecord(record: Document): ModelTopic {
  const source = record["source"] as StoredSource;
  return {
    externalId: record["topic_id"] as string,
    name: record["topic_name"] as string,
    namespace: record["namespace"] as string,
    headerQuery: record["header_query"] as string,
    contentQuery: record["content_query"] as string,
    owner: source.kind === "http" ? "http" : "channel",
    offset: source.kind === "http" ? -1 : toOffset(source),
  };
}

function findMove(changes: readonly Change[]) {
  const change = changes.find(({ collection }) => collection === collections.positions);
  if (change?.after === undefined) return undefined;
  const before = toPosition(change.before);
  const after = toPosition(change.after);
  if (after === undefined || (before?.offset === after.offset && before.epoch === after.epoch))
    return undefined;
  return { partition: (change.after["_id"] as { partition: number }).partition, before, after };
}

const isSameCount = (a: Counts, b: Counts): boolean =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) => (a[name] ?? 0) === (b[name] ?? 0));

const isAt = ({ offset, epoch }: Position = beginning, other: Position): boolean =>
  offset === other.offset && epoch === other.epoch;

function toPosition(record: Document | undefined): Position | undefined {
  const offset = record?.["next_offset"] as number | null | undefined;
  return offset === undefined || offset === null
    ? undefined
    : { offset, epoch: (record?.["epoch"] as number | null | undefined) ?? 1 };
}

const announcements = new Map<string, Record<string, string>>();

/** Reads a record that the simulation made. */
function toAnnouncement({ key, value }: StoredRecord, offset: number): ModelAnnouncement {
  if (value === null)
    return key === null
      ? { kind: "unusable", offset, rejection: { code: "MISSING_KEY" } }
      : { kind: "retire", offset, externalId: key };
  if (!value.startsWith("{")) return { kind: "unusable", offset, rejection: { code: "MALFORMED_JSON" } };
  const parsed = announcements.get(value) ?? (JSON.parse(value) as Record<string, string>);
  announcements.set(value, parsed);
  const { externalId = "", name = "", namespace = "", headerQuery = "", contentQuery = "" } = parsed;
  return { kind: "define", offset, definition: { externalId, name, namespace, headerQuery, contentQuery } };
}
