/** The product's connections to a simulated broker: a member of its group, queries of the log, and a producer. */
import { KafkaUnavailableError } from "../../../src/lib/errors.ts";
import type {
  GroupListener,
  GroupMember,
  LogRecord,
  LogWatch,
  OutgoingRecord,
  RecordBatch,
  RecordProducer,
} from "../../../src/sync/records.ts";
import type { Clock, Host } from "../clock.ts";
import { ConnectionLostError, type Network } from "../network.ts";
import {
  BrokerDownError,
  DisagreementError,
  MembershipError,
  UnknownTopicError,
  type Assignment,
  type KafkaBroker,
} from "./broker.ts";
import type { PartitionLog, StoredRecord } from "./log.ts";
import { createPartitionState, type PartitionState } from "./partition-state.ts";

export interface KafkaClientOptions {
  readonly clock: Clock;
  readonly network: Network;
  readonly broker: KafkaBroker;
  readonly host: Host;
  /** Called with what a fetch brought, before the product sees it. */
  readonly onDelivered: (delivery: Delivery) => void;
  /** Called with dead letters before they are sent. */
  readonly onSending: (host: Host, records: readonly OutgoingRecord[]) => void;
}

export interface Delivery {
  readonly host: Host;
  readonly partition: number;
  readonly log: PartitionLog;
  /** Fetches one after another have the same; a seek, or a batch that was left, begins the next. */
  readonly sequence: object;
  readonly records: readonly StoredRecord[];
}

const heartbeatIntervalMs = 2_000;
const leaveTimeoutMs = 5_000;
/** kafkajs restarts a member, which joins again then, only after so many retries. */
const maxOutages = 5;
const retryDelayMs = 300;

export function createKafkaClient({
  clock,
  network,
  broker,
  host,
  onDelivered,
  onSending,
}: KafkaClientOptions) {
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      clock.schedule(host, ms, () => {
        resolve();
      });
    });

  const call = <T>(execute: () => T | Promise<T>): Promise<T> => network.call(broker.host, execute);

  const query = <T>(execute: () => T): Promise<T> =>
    call(execute).catch((error: unknown) => {
      throw isOutage(error) ? new KafkaUnavailableError(`Kafka does not respond: ${error.message}`) : error;
    });

  const watch: LogWatch = {
    fetchLog: (partition) => query(() => broker.fetchLog(partition)),
    confirmLog: (_, log) =>
      query(() => {
        broker.confirmLog(log);
      }),
    fetchTombstoneRetentionMs: () => Promise.resolve(undefined),
  };

  const deadLetters: Pick<RecordProducer, "send"> = {
    async send(records) {
      onSending(host, records);
      const first = await query(() => broker.produce(host, records));
      return records.map((_, index) => ({ partition: 0, offset: first + index }));
    },
  };

  return { watch, deadLetters, createMember: (): GroupMember => createMember() };

  function createMember(): GroupMember {
    let listener: GroupListener | undefined;
    let isStopped = false;
    let id: string | undefined;
    let current: Generation | undefined;
    let running: Promise<void> | undefined;
    let knownTopicId: string | undefined;
    /** As in kafkajs, a partition stays paused when it is assigned again. */
    const paused = new Set<number>();

    const hasStopped = (): boolean => isStopped;

    async function join(): Promise<Assignment> {
      for (;;) {
        try {
          const assignment = await call(() => broker.join(host, id));
          id = assignment.member;
          return assignment;
        } catch (error) {
          if (error instanceof MembershipError) id = undefined;
          else if (!isOutage(error)) throw error;
          await wait(retryDelayMs);
        }
      }
    }

    async function run(): Promise<void> {
      while (!isStopped) {
        const assignment = await join();
        if (hasStopped()) return;
        const generation = createGeneration(assignment);
        current = generation;
        listener?.onAssigned(assignment.partitions.map((partition) => ({ topic: broker.topic, partition })));
        await generation.run();
      }
    }

    /** Leaves the group, once the batches have been handled. */
    async function leave(): Promise<void> {
      await running;
      if (id === undefined) return;
      const member = id;
      await call(() => {
        broker.leave(member);
      }).catch(() => undefined);
    }

    interface Generation {
      /** Resolves once every batch has been handled. */
      readonly run: () => Promise<void>;
      readonly resume: (partition: number) => void;
      readonly seek: (partition: number, offset: number) => void;
      /** Fetches nothing more. */
      readonly end: () => void;
    }

    function createGeneration({ member, generation, partitions }: Assignment): Generation {
      const states = new Map(partitions.map((partition) => [partition, createPartitionState()]));
      let isOver = false;
      const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<undefined>();
      let lastHeartbeat = clock.getTime();
      let beating: Promise<boolean> | undefined;
      let outages = 0;

      const isEnded = (): boolean => isOver || isStopped;

      function endGeneration(): void {
        resolveEnded(undefined);
        for (const state of states.values()) state.wake();
      }

      /** Returns false when the batches in hand must be left. They share a heartbeat. */
      async function heartbeat(): Promise<boolean> {
        if (clock.getTime() - lastHeartbeat < heartbeatIntervalMs) return true;
        beating ??= sendHeartbeat().finally(() => {
          beating = undefined;
        });
        return beating;
      }

      async function sendHeartbeat(): Promise<boolean> {
        try {
          await call(() => {
            broker.heartbeat(member, generation);
          });
          lastHeartbeat = clock.getTime();
          return true;
        } catch (error) {
          if (error instanceof MembershipError) {
            if (error.reason === "unknown member") id = undefined;
          } else if (!isOutage(error)) throw error;
          else if ((outages += 1) <= maxOutages) return false;
          isOver = true;
          endGeneration();
          return false;
        }
      }

      async function beat(): Promise<void> {
        while (!isEnded()) {
          await wait(heartbeatIntervalMs);
          // As in kafkajs, a batch that is being handled sends its own.
          if (!isEnded() && [...states.values()].every(({ isDelivering }) => !isDelivering))
            await heartbeat();
        }
      }

      async function read(partition: number, state: PartitionState): Promise<void> {
        while (!isEnded()) {
          if (paused.has(partition)) {
            await state.waitForChange();
            continue;
          }
          const { seeks } = state;
          let from = state.offset;
          let fetched;
          let topicId: string;
          try {
            // As in kafkajs, a partition without a position is read from the beginning of the log.
            if (from < 0) from = await call(() => broker.fetchLow(partition));
            topicId = knownTopicId ?? (await call(() => broker.getTopicId()));
            knownTopicId = topicId;
            fetched = await call(() => broker.fetch(partition, from, topicId));
          } catch (error) {
            // A member that notices that the topic is gone joins again.
            if (error instanceof UnknownTopicError) {
              knownTopicId = undefined;
              isOver = true;
              endGeneration();
            } else if (!isOutage(error)) throw error;
            await wait(retryDelayMs);
            continue;
          }
          // As in kafkajs, the end of the generation outdates only the batches whose own heartbeat failed.
          const isCurrent = (): boolean => !isStopped && seeks === state.seeks;
          if (isEnded() || !isCurrent() || paused.has(partition)) continue;
          const origin = { topicId, fetchedFrom: from, isOutOfRange: fetched === undefined, isCurrent };
          if (fetched === undefined) {
            await deliver(partition, state, { ...origin, records: [], end: from + 1 });
            continue;
          }
          const { records, end, log } = fetched;
          if (end === from) continue;
          onDelivered({ host, partition, log, sequence: state.sequence, records });
          await deliver(partition, state, { ...origin, records, end });
        }
      }

      async function deliver(
        partition: number,
        state: PartitionState,
        {
          records,
          isCurrent,
          ...fetched
        }: Pick<RecordBatch, "topicId" | "fetchedFrom" | "isOutOfRange" | "end" | "isCurrent"> & {
          readonly records: readonly StoredRecord[];
        },
      ): Promise<void> {
        const { end } = fetched;
        let failed = false;
        const batch: RecordBatch = {
          partition: { topic: broker.topic, partition },
          records: records.map(toLogRecord),
          ...fetched,
          // Only a hint, so both are simulated.
          isAtEnd: end % 2 === 0,
          advance(offset) {
            // As in kafkajs, an advance over the last record covers the markers after it.
            if (isCurrent()) state.offset = offset === records.at(-1)?.offset ? end : offset + 1;
          },
          async heartbeat() {
            if (!(await heartbeat())) failed = true;
            return !failed;
          },
          isCurrent: () => isCurrent() && !failed,
        };
        state.isDelivering = true;
        await listener?.onBatch(batch);
        state.isDelivering = false;
        // What was left is fetched again, and may have been compacted meanwhile.
        if (state.offset < end) state.sequence = {};
      }

      return {
        async run() {
          beat().catch(clock.fail);
          await Promise.all([ended, ...[...states].map(([partition, state]) => read(partition, state))]);
        },
        end: endGeneration,
        resume(partition) {
          states.get(partition)?.wake();
        },
        seek(partition, offset) {
          const state = states.get(partition);
          if (state === undefined) return;
          state.offset = offset;
          state.seeks += 1;
          state.sequence = {};
          state.wake();
        },
      };
    }

    return {
      run(given) {
        listener = given;
        running = run();
        running.catch(clock.fail);
        return Promise.resolve();
      },
      isInGroup: () => current !== undefined,
      pause({ partition }) {
        if (current !== undefined) paused.add(partition);
      },
      resume({ partition }) {
        if (current === undefined) return;
        paused.delete(partition);
        current.resume(partition);
      },
      seek({ partition }, offset) {
        current?.seek(partition, offset);
      },
      commit: () => undefined,
      async stop() {
        isStopped = true;
        current?.end();
        await Promise.race([leave(), wait(leaveTimeoutMs)]);
      },
    };
  }
}

const isOutage = (error: unknown): error is Error =>
  error instanceof ConnectionLostError ||
  error instanceof BrokerDownError ||
  error instanceof DisagreementError ||
  error instanceof UnknownTopicError;

const toLogRecord = ({ offset, timestamp, key, value }: StoredRecord): LogRecord => ({
  offset,
  timestamp: String(timestamp),
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
  headers: {},
});
