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
import { BrokerDownError, MembershipError, type Assignment, type KafkaBroker } from "./broker.ts";
import type { PartitionLog, StoredRecord } from "./log.ts";

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
  /** Fetches one after another have the same; a seek begins the next. */
  readonly sequence: object;
  readonly records: readonly StoredRecord[];
}

const heartbeatIntervalMs = 2_000;
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
    fetchBounds: () => query(() => broker.fetchBounds()),
    findFirstSince: (timestamp) => query(() => broker.findFirstSince(timestamp)),
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

    interface Generation {
      readonly run: () => Promise<void>;
      readonly pause: (partition: number) => void;
      readonly resume: (partition: number) => void;
      readonly seek: (partition: number, offset: number) => void;
    }

    function createGeneration({ member, generation, partitions }: Assignment): Generation {
      const states = new Map(partitions.map((partition) => [partition, createPartitionState()]));
      let isOver = false;
      let lastHeartbeat = clock.getTime();

      /** Returns false when the member has to join again. */
      async function heartbeat(): Promise<boolean> {
        if (isOver) return false;
        if (clock.getTime() - lastHeartbeat < heartbeatIntervalMs) return true;
        lastHeartbeat = clock.getTime();
        try {
          await call(() => {
            broker.heartbeat(member, generation);
          });
          return !isEnded();
        } catch (error) {
          if (error instanceof MembershipError) {
            if (error.reason === "unknown member") id = undefined;
          } else if (!isOutage(error)) throw error;
          isOver = true;
          for (const state of states.values()) state.wake();
          return false;
        }
      }

      const isEnded = (): boolean => isOver || isStopped;

      async function beat(): Promise<void> {
        while (!isEnded()) {
          await wait(heartbeatIntervalMs);
          // As in kafkajs, a batch that is being handled sends its own.
          if ([...states.values()].every(({ isDelivering }) => !isDelivering)) await heartbeat();
        }
        for (const state of states.values()) state.wake();
      }

      async function read(partition: number, state: PartitionState): Promise<void> {
        while (!isEnded()) {
          if (state.isPaused) {
            await state.waitForChange();
            continue;
          }
          const { seeks } = state;
          const from = state.offset;
          let fetched;
          try {
            fetched = await call(() => broker.fetch(partition, from));
          } catch (error) {
            if (!isOutage(error)) throw error;
            await wait(retryDelayMs);
            continue;
          }
          const isCurrent = (): boolean => !isEnded() && seeks === state.seeks;
          if (!isCurrent() || isPaused(state)) continue;
          if (fetched === undefined) {
            // As kafkajs does when the offset is out of range.
            const bounds = await call(() => broker.fetchBounds()).catch(() => undefined);
            if (bounds === undefined) await wait(retryDelayMs);
            else if (isCurrent()) {
              state.offset = bounds.get(partition)?.low ?? 0;
              state.sequence = {};
            }
            continue;
          }
          const { records, end, log } = fetched;
          if (end > from) onDelivered({ host, partition, log, sequence: state.sequence, records });
          if (records.length > 0) {
            await deliver(partition, state, { records, end, isCurrent });
          } else if (end > from) {
            listener?.onSkipped({ topic: broker.topic, partition }, { first: from, end });
            if (isCurrent()) state.offset = end;
          }
        }
      }

      async function deliver(
        partition: number,
        state: PartitionState,
        {
          records,
          end,
          isCurrent,
        }: { records: readonly StoredRecord[]; end: number; isCurrent: () => boolean },
      ): Promise<void> {
        let failed = false;
        const batch: RecordBatch = {
          partition: { topic: broker.topic, partition },
          records: records.map(toLogRecord),
          end,
          advance(offset) {
            if (isCurrent()) state.offset = offset + 1;
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
      }

      return {
        async run() {
          await Promise.all([beat(), ...[...states].map(([partition, state]) => read(partition, state))]);
        },
        pause(partition) {
          const state = states.get(partition);
          if (state !== undefined) state.isPaused = true;
        },
        resume(partition) {
          const state = states.get(partition);
          if (state === undefined) return;
          state.isPaused = false;
          state.wake();
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
        run().catch(clock.fail);
        return Promise.resolve();
      },
      pause({ partition }) {
        current?.pause(partition);
      },
      resume({ partition }) {
        current?.resume(partition);
      },
      seek({ partition }, offset) {
        current?.seek(partition, offset);
      },
      commit: () => undefined,
      async stop() {
        isStopped = true;
        if (id === undefined) return;
        const member = id;
        await call(() => {
          broker.leave(member);
        }).catch(() => undefined);
      },
    };
  }
}

interface PartitionState {
  offset: number;
  isPaused: boolean;
  isDelivering: boolean;
  /** How often the partition was repositioned: what was fetched before is outdated. */
  seeks: number;
  sequence: object;
  readonly waitForChange: () => Promise<void>;
  readonly wake: () => void;
}

function createPartitionState(): PartitionState {
  let waiting: (() => void) | undefined;
  return {
    offset: 0,
    isPaused: false,
    isDelivering: false,
    seeks: 0,
    sequence: {},
    waitForChange: () =>
      new Promise((resolve) => {
        waiting = resolve;
      }),
    wake() {
      waiting?.();
      waiting = undefined;
    },
  };
}

/** Read again after a wait, which may have changed it. */
const isPaused = (state: PartitionState): boolean => state.isPaused;

const isOutage = (error: unknown): error is Error =>
  error instanceof ConnectionLostError || error instanceof BrokerDownError;

const toLogRecord = ({ offset, timestamp, key, value }: StoredRecord): LogRecord => ({
  offset,
  timestamp: String(timestamp),
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
  headers: {},
});
