import type {
  DeadLetterChannel,
  DeadLetterList,
  DeadLetterView,
  ReplayView,
} from "../../schemas/dead-letter-api.ts";
import { KafkaUnavailableError, NotLoadedError } from "../lib/errors.ts";
import { createMutex } from "../lib/mutex.ts";
import { withTimeout } from "../lib/timeout.ts";
import type { LogReader, RecordProducer } from "../sync/records.ts";
import { createDeadLetterIndex } from "./dead-letter-index.ts";
import { parseDeadLetter, type IdentifyTopic } from "./dead-letter.ts";
import { getOutcome, type ReplayWithOutcome } from "./outcomes.ts";
import { matchesFilter, readPage, type DeadLetterFilter, type PageRequest } from "./page.ts";
import { createRecordCache } from "./record-cache.ts";
import { planReplay, skip, type ReplayPlan } from "./replay-plan.ts";
import { sendReplays, type SentReplays } from "./replay.ts";
import type { ReplayStore, SyncPosition, SyncState } from "./stores.ts";
import { createTopicStates, noTopicStates, type TopicStates } from "./topic-states.ts";
import { toDeadLetterView, toReplayView } from "./views.ts";

export interface DeadLetterServiceOptions {
  readonly channel: DeadLetterChannel;
  /** The Kafka topic that the dead letters came from and are replayed to. */
  readonly topic: string;
  readonly deadLetterTopic: string;
  readonly reader: LogReader;
  /** Creates a producer for `topic`, which each replay closes at its end. */
  readonly createProducer: () => RecordProducer;
  readonly replays: ReplayStore;
  readonly sync: SyncState;
  readonly identify: IdentifyTopic;
  /** Reads the key of the proofs of replays. Undefined: they need no proof. */
  readonly getProofKey: (() => Promise<Buffer>) | undefined;
  readonly abort: AbortSignal;
  readonly limits?: DeadLetterLimits;
}

export interface DeadLetterLimits {
  /** The number of dead letters to index, the newest; each takes about 700 bytes. */
  readonly maxDeadLetters: number;
  /** How long a caller waits until the topic is read; undefined: as long as it takes. */
  readonly readTimeoutMs: number | undefined;
  /** Called while the topic is read, with the number of records. */
  readonly onProgress?: (read: number, total: number) => void;
}

export interface ReplayRequest {
  readonly filter: DeadLetterFilter;
  /** Also send what was replayed before. */
  readonly again?: boolean | undefined;
  /** Also send what is superseded. */
  readonly force?: boolean | undefined;
  /** Also send what topicsync did not write, code OTHER. */
  readonly others?: boolean | undefined;
}

/**
 * The dead letters of one channel, for HTTP and the command line. The topic is read at the first call; later calls read on from
 * there. Every function throws UnavailableError, and NotLoadedError if the first reading takes too long; those that read whole
 * records throw OverloadedError if too many callers wait.
 */
export interface DeadLetterService {
  /** A page, newest first, with the number of dead letters. Throws a RejectionError if the cursor is not valid. */
  list(request: PageRequest): Promise<Omit<DeadLetterList, "channels">>;
  /** Undefined when it is not among the indexed ones. */
  get(id: string): Promise<DeadLetterView | undefined>;
  /** Whole dead letters, in the order of the ids; unknown ids are left out. */
  readonly read: (ids: readonly string[]) => AsyncGenerator<DeadLetterView, void>;
  /** The last replay of each dead letter; null where there is none. */
  getOutcomes(ids: readonly string[]): Promise<(ReplayView | null)[]>;
  /** Decides what a replay will send. Throws NotLoadedError if too many announcements are pending. */
  plan(request: ReplayRequest): Promise<ReplayPlan>;
  /** Sends what was planned, without what was replayed or superseded since. */
  send(plan: ReplayPlan, onProgress?: (done: number) => void): Promise<SentReplays>;
}

const httpLimits: DeadLetterLimits = { maxDeadLetters: 50_000, readTimeoutMs: 10_000 };
const maxCachedBytes = 8 * 1024 * 1024;
const maxWaiting = 20;

/** Creates the service. Reads nothing before the first call. */
export function createDeadLetterService(options: DeadLetterServiceOptions): DeadLetterService {
  const { channel, topic, deadLetterTopic, reader, replays, sync, identify, abort } = options;
  const { maxDeadLetters, readTimeoutMs, onProgress = () => undefined } = options.limits ?? httpLimits;
  const records = createRecordCache({ reader, topic: deadLetterTopic, maxBytes: maxCachedBytes, abort });
  const index = createDeadLetterIndex({
    reader,
    topic: deadLetterTopic,
    identify,
    maxDeadLetters,
    onRecord: records.add,
    onProgress,
    abort,
  });
  // Whole records take memory.
  const lock = createMutex({ maxWaiting, message: "too many requests are waiting for dead letters" });
  let refreshing: Promise<readonly SyncPosition[]> | undefined;

  /** Reads on, and returns the sync's positions before that. Concurrent calls share one reading. */
  function refresh(): Promise<readonly SyncPosition[]> {
    refreshing ??= readOn().finally(() => {
      refreshing = undefined;
    });
    if (readTimeoutMs === undefined) return refreshing;
    const toError = () => new NotLoadedError("the dead letters are still being read");
    return withTimeout(readTimeoutMs, refreshing, toError);
  }

  async function readOn(): Promise<readonly SyncPosition[]> {
    // The sync sends a dead letter before it moves on, so everything rejected before these positions is found after them.
    const positions = await sync.findPositions();
    await index.refresh();
    return positions;
  }

  async function findReplays(
    ids: readonly string[],
    positions: readonly SyncPosition[],
  ): Promise<ReadonlyMap<string, readonly ReplayWithOutcome[]>> {
    const facts = { positions, findCode: (id: string) => index.find(id)?.code };
    const found = await replays.find(ids);
    return Map.groupBy(
      found.map((replay): ReplayWithOutcome => ({ ...replay, outcome: getOutcome(replay, facts) })),
      ({ deadLetterId }) => deadLetterId,
    );
  }

  const createStates = (positions: readonly SyncPosition[]): TopicStates =>
    channel !== "announcements"
      ? noTopicStates
      : createTopicStates({ sync, positions, identify, reader, topic, abort });

  async function* read(ids: readonly string[]): AsyncGenerator<DeadLetterView, void> {
    const positions = await refresh();
    const summaries = ids.map((id) => index.find(id)).filter((summary) => summary !== undefined);
    const found = await findReplays(ids, positions);
    for await (const [{ id, copies }, record] of records.read(summaries)) {
      const letter = parseDeadLetter(deadLetterTopic, record, identify);
      yield toDeadLetterView(letter, copies, found.get(id) ?? []);
    }
  }

  return {
    async list(request) {
      const positions = await refresh();
      const { deadLetters, next } = await readPage(index.list(), request, (ids) =>
        findReplays(ids, positions),
      );
      return {
        counts: index.countByCode(),
        total: index.list().length,
        unlisted: index.countUnlisted(),
        deadLetters,
        next,
      };
    },

    get: (id) =>
      lock(async () => {
        for await (const letter of read([id])) return letter;
        return undefined;
      }),
    read,

    async getOutcomes(ids) {
      const found = await findReplays(ids, await refresh());
      return ids.map((id) => {
        const last = found.get(id)?.at(-1);
        return last === undefined ? null : toReplayView(last);
      });
    },

    async plan({ filter, again = false, force = false, others = false }) {
      const positions = await refresh();
      const partitions = (await reader.fetchBounds(topic))?.size;
      if (partitions === undefined)
        throw new KafkaUnavailableError(`there is no Kafka topic named "${topic}"`);
      const oldestFirst = index.list().toReversed();
      const plan = await planReplay(
        oldestFirst.filter((summary) => matchesFilter(summary, filter)),
        {
          topic,
          partitions,
          states: createStates(positions),
          findReplays: (ids) => findReplays(ids, positions),
          again,
          force,
          others,
        },
      );
      const missing = [...(filter.ids ?? [])].filter((id) => index.find(id) === undefined);
      const skipped = missing.map((id) => skip(id, "missing", "no such dead letter among the newest"));
      return { ...plan, skipped: [...plan.skipped, ...skipped] };
    },

    send: (plan, onSent = () => undefined) =>
      lock(async () => {
        const positions = await refresh();
        const proofKey = await options.getProofKey?.();
        const producer = options.createProducer();
        try {
          return await sendReplays(plan, {
            deadLetterTopic,
            identify,
            records,
            replays,
            positions,
            states: createStates(positions),
            producer,
            keepTime: channel !== "announcements",
            proofKey,
            abort,
            onProgress: onSent,
          });
        } finally {
          await producer.close();
        }
      }),
  };
}
