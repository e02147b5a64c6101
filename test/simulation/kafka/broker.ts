/** A simulated broker: the topic that the sync reads, its dead-letter topic, and the coordinator of the group. */
import type { OutgoingRecord, PartitionLog as LogView } from "../../../src/sync/records.ts";
import type { Clock, Host } from "../clock.ts";
import type { Random } from "../random.ts";
import { createPartitionLog, type FetchedRange, type PartitionLog } from "./log.ts";

/** Why the coordinator rejects a member. */
export class MembershipError extends Error {
  readonly reason: "unknown member" | "rebalance in progress";

  constructor(reason: MembershipError["reason"]) {
    super(reason);
    this.reason = reason;
  }
}

export class BrokerDownError extends Error {}

/** The topic was deleted, or has another id than the one that was asked for. */
export class UnknownTopicError extends Error {}

/** Not every broker knows the topic by this id, and its partition by this leader. */
export class DisagreementError extends Error {}

export interface Assignment {
  readonly member: string;
  readonly generation: number;
  readonly partitions: readonly number[];
}

export interface KafkaBroker {
  readonly host: Host;
  readonly topic: string;
  readonly getLog: (partition: number) => PartitionLog;
  readonly getPartitions: () => readonly number[];
  readonly recreate: () => void;
  readonly getTopicId: () => string;
  readonly fetchLow: (partition: number) => number;
  /** Throws UnknownTopicError when the topic does not have this id. */
  readonly fetch: (
    partition: number,
    from: number,
    topicId: string,
  ) => Promise<(FetchedRange & { readonly log: PartitionLog }) | undefined>;
  readonly fetchLog: (partition: number) => LogView;
  /** Throws DisagreementError. */
  readonly confirmLog: (log: LogView) => void;
  readonly join: (process: Host, member: string | undefined) => Promise<Assignment>;
  /** Throws MembershipError. */
  readonly heartbeat: (member: string, generation: number) => void;
  readonly leave: (member: string) => void;
  /** Notices that a process is gone. */
  readonly expire: (process: Host) => void;
  /** Adds dead letters; returns the offset of the first. */
  readonly produce: (from: Host, records: readonly OutgoingRecord[]) => number;
  readonly goDown: (ms: number) => void;
  /** Answers the next query of a log as a broker does that lost its leadership some time ago. */
  readonly showOldBounds: () => void;
  /** Wakes fetches that wait for records. */
  readonly notify: () => void;
  readonly rebalance: () => void;
  readonly observe: (onDeadLetters: (from: Host, records: readonly OutgoingRecord[]) => void) => void;
}

export interface BrokerOptions {
  readonly partitions: number;
  readonly maxOffsetsPerFetch: number;
  /** The topic that is read. */
  readonly topic?: string;
}

const sessionTimeoutMs = 10_000;
const rebalanceTimeoutMs = 60_000;
const fetchWaitMs = 500;
/** How long a topic that is created again does not exist, at most. */
export const topicAbsenceMs = 500;

interface Member {
  readonly id: string;
  readonly process: Host;
  expireAt: number;
  /** Resolves its request to join. */
  waiting: PromiseWithResolvers<Assignment> | undefined;
}

export function createKafkaBroker(
  { clock, random, host }: { readonly clock: Clock; readonly random: Random; readonly host: Host },
  { partitions: count, maxOffsetsPerFetch, topic = "announcements" }: BrokerOptions,
): KafkaBroker {
  const partitions = Array.from({ length: count }, (_, partition) => partition);
  let nextLogId = 1;
  let nextTopicId = 1;
  function createLogs(): PartitionLog[] {
    const topicId = `id-${nextTopicId}`;
    nextTopicId += 1;
    return partitions.map(() => createPartitionLog(nextLogId++, topicId));
  }
  let logs = createLogs();
  let upAt = 0;
  let existsAt = 0;
  const oldLogs = new Map<number, LogView>();
  let showsOldLog = false;
  let leaderEpoch = 0;
  let waitingFetches: (() => void)[] = [];
  let letters = 0;
  let onDeadLetters: (from: Host, records: readonly OutgoingRecord[]) => void = () => undefined;

  const members = new Map<string, Member>();
  let nextMember = 1;
  let generation = 0;
  let isStable = true;
  let rebalanceEnds = Infinity;

  function requireUp(): void {
    if (clock.getTime() < upAt) throw new BrokerDownError("the broker is down");
  }

  function requireTopic(): void {
    requireUp();
    if (clock.getTime() < existsAt) throw new UnknownTopicError("the topic does not exist");
  }

  function requireId(topicId: string): void {
    if (topicId !== getTopicId()) throw new UnknownTopicError("the topic has another id");
  }

  function getLog(partition: number): PartitionLog {
    const log = logs[partition];
    if (log === undefined) throw new Error(`there is no partition ${partition}`);
    return log;
  }

  function startRebalance(): void {
    if (!isStable) return;
    isStable = false;
    rebalanceEnds = clock.getTime() + rebalanceTimeoutMs;
    clock.schedule(host, rebalanceTimeoutMs, completeIfReady);
    completeIfReady();
  }

  function completeIfReady(): void {
    if (isStable) return;
    const all = [...members.values()];
    const isLate = clock.getTime() >= rebalanceEnds;
    if (!isLate && all.some(({ waiting }) => waiting === undefined)) return;
    for (const member of all) if (member.waiting === undefined) members.delete(member.id);
    isStable = true;
    generation += 1;
    const joined = [...members.values()].toSorted(() => random.next() - 0.5);
    for (const [index, member] of joined.entries()) {
      member.waiting?.resolve({
        member: member.id,
        generation,
        partitions: partitions.filter((partition) => partition % joined.length === index),
      });
      member.waiting = undefined;
      extend(member);
    }
  }

  function extend(member: Member): void {
    member.expireAt = clock.getTime() + sessionTimeoutMs;
    clock.schedule(host, sessionTimeoutMs, () => {
      if (members.get(member.id) !== member || member.waiting !== undefined) return;
      if (clock.getTime() < member.expireAt) return;
      // A coordinator that was down waits for heartbeats again.
      if (clock.getTime() < upAt) extend(member);
      else remove(member.id);
    });
  }

  function remove(id: string): void {
    if (!members.delete(id)) return;
    startRebalance();
    completeIfReady();
  }

  const getTopicId = (): string => getLog(0).topicId;

  const view = (partition: number): LogView => ({
    low: getLog(partition).getLow(),
    high: getLog(partition).getEnd(),
    topicId: getTopicId(),
    clusterId: "simulated",
    leader: 1,
    leaderEpoch,
  });

  function notify(): void {
    const waiting = waitingFetches;
    waitingFetches = [];
    for (const wake of waiting) clock.schedule(host, 0, wake);
  }

  return {
    host,
    topic,
    getLog,
    getPartitions: () => partitions,
    recreate() {
      logs = createLogs();
      oldLogs.clear();
      existsAt = clock.getTime() + random.between(50, topicAbsenceMs);
      notify();
    },
    getTopicId() {
      requireTopic();
      return getTopicId();
    },
    fetchLow(partition) {
      requireTopic();
      return getLog(partition).getLow();
    },
    async fetch(partition, from, topicId) {
      requireTopic();
      requireId(topicId);
      const log = getLog(partition);
      const fetched = log.fetch(from, random.between(1, maxOffsetsPerFetch + 1));
      if (fetched === undefined || fetched.end > from) return fetched && { ...fetched, log };
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const wake = (): void => {
        resolve(undefined);
      };
      waitingFetches.push(wake);
      const cancel = clock.schedule(host, fetchWaitMs, wake);
      await promise;
      cancel();
      requireTopic();
      requireId(topicId);
      const current = getLog(partition);
      const again = current.fetch(from, maxOffsetsPerFetch);
      return again && { ...again, log: current };
    },
    fetchLog(partition) {
      requireTopic();
      const current = view(partition);
      const shown = showsOldLog ? (oldLogs.get(partition) ?? current) : current;
      showsOldLog = false;
      oldLogs.set(partition, current);
      return shown;
    },
    confirmLog(log) {
      requireTopic();
      if (log.topicId !== getTopicId() || log.leaderEpoch !== leaderEpoch)
        throw new DisagreementError("the brokers do not agree");
    },
    join(process, id) {
      requireUp();
      const known = id === undefined ? undefined : members.get(id);
      if (id !== undefined && known === undefined) throw new MembershipError("unknown member");
      const member = known ?? {
        id: `member-${nextMember++}`,
        process,
        expireAt: Infinity,
        waiting: undefined,
      };
      members.set(member.id, member);
      startRebalance();
      member.waiting = Promise.withResolvers<Assignment>();
      const { promise } = member.waiting;
      completeIfReady();
      return promise;
    },
    heartbeat(id, of) {
      requireUp();
      const member = members.get(id);
      if (member === undefined || (isStable && of !== generation))
        throw new MembershipError("unknown member");
      extend(member);
      if (!isStable) throw new MembershipError("rebalance in progress");
    },
    leave(id) {
      requireUp();
      remove(id);
    },
    expire(process) {
      for (const member of [...members.values()]) if (member.process === process) remove(member.id);
    },
    produce(from, records) {
      requireUp();
      const first = letters;
      letters += records.length;
      onDeadLetters(from, records);
      return first;
    },
    goDown(ms) {
      upAt = clock.getTime() + ms;
    },
    showOldBounds() {
      // Another broker has become the leader since the last query.
      leaderEpoch += 1;
      showsOldLog = true;
    },
    notify,
    rebalance: startRebalance,
    observe(listener) {
      onDeadLetters = listener;
    },
  };
}
