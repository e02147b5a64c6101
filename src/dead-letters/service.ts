import PQueue from "p-queue";

import { KafkaUnavailableError, OverloadedError } from "@topicsync/lib/errors";
import type { LogReader, RecordProducer } from "@topicsync/kafka";
import type {
  DeadLetterChannel,
  DeadLetterList,
  DeadLetterView,
  ReplayView,
} from "../../schemas/dead-letters/dead-letter.ts";
import { includesNamespace, type Namespaces } from "../users/rights.ts";
import { readPage, type PageRequest } from "./listing.ts";
import { findReplays } from "./outcomes.ts";
import { createNotStoredError } from "./progress.ts";
import { readDeadLetters, type DeadLetterSource } from "./records.ts";
import { planReplay, skip, type ReplayPlan } from "./replay-plan.ts";
import { sendReplays, type SentReplays } from "./replay.ts";
import type { DeadLetterReader, ReplayStore, SyncPosition, SyncState } from "./stores.ts";
import type { StoredDeadLetter } from "./summary.ts";
import { createTopicStates, noTopicStates, type TopicStates } from "./topic-states.ts";
import { toDeadLetterView, toReplayView } from "./views.ts";

export interface DeadLetterServiceOptions extends Omit<DeadLetterSource, "proofKey"> {
  readonly channel: DeadLetterChannel;
  /** The Kafka topic that the dead letters came from and are replayed to. */
  readonly topic: string;
  readonly kafka: LogReader;
  readonly letters: DeadLetterReader;
  /**
   * Waits until the dead letters are stored that Kafka has now, as long as the caller can wait. Returns how
   * many are not stored then. Throws UnavailableError.
   */
  readonly waitUntilStored: () => Promise<number>;
  /** Why dead letters cannot be stored, if that is known. */
  readonly getProblem: () => string | undefined;
  /** Creates a producer for `topic`, which each replay closes at its end. */
  readonly createProducer: () => RecordProducer;
  readonly replays: ReplayStore;
  readonly sync: SyncState;
  /** Reads the key of the proofs of dead letters and replays. Throws UnavailableError. */
  readonly getProofKey: () => Promise<Buffer>;
  /** Whether replays need a proof. */
  readonly provesReplays: boolean;
  readonly abort: AbortSignal;
}

export interface ReplayRequest {
  readonly ids: readonly string[];
  /** Only dead letters of topics in one of these. */
  readonly namespaces: Namespaces;
  /** Also send what was replayed before. */
  readonly again?: boolean | undefined;
  /** Also send what is superseded. */
  readonly force?: boolean | undefined;
  /** Also send what topicsync did not write, code OTHER. */
  readonly others?: boolean | undefined;
}

/** A dead letter, and the namespace of its topic; undefined if that is unknown. */
interface FoundDeadLetter {
  readonly view: DeadLetterView;
  readonly namespace: string | undefined;
}

/**
 * The dead letters of one channel. Every function throws UnavailableError,
 * and, except for `list`, NotLoadedError if the dead letters are not stored in time; those that read whole
 * records throw OverloadedError if too many callers wait.
 */
export type DeadLetterService = ReturnType<typeof createDeadLetterService>;

const maxWaiting = 20;

export function createDeadLetterService(options: DeadLetterServiceOptions) {
  const { letters } = options;
  // Whole records take memory.
  const queue = new PQueue({ concurrency: 1 });
  const lock = <T>(work: () => Promise<T>): Promise<T> => {
    if (queue.size < maxWaiting) return queue.add(work);
    throw new OverloadedError("too many requests are waiting for dead letters");
  };
  return {
    /** A page, newest first. Throws a RejectionError if the cursor is not valid. */
    async list(request: PageRequest): Promise<Pick<DeadLetterList, "deadLetters" | "next" | "unlisted">> {
      const { positions, unread } = await catchUp(options);
      return { unlisted: unread, ...(await readPage(request, { ...options, positions })) };
    },

    /** How many are stored, up to `maxCounted` of each code. */
    countByCode: (namespaces: Namespaces) => letters.countByCode(namespaces),

    /** Undefined if there is none with this id in these namespaces, or Kafka has deleted it. */
    get: (id: string, namespaces: Namespaces) => lock(() => get(id, options, namespaces)),

    /** The last replay of each dead letter; null where there is none. */
    async getOutcomes(ids: readonly string[], namespaces: Namespaces): Promise<(ReplayView | null)[]> {
      const positions = await catchUpFully(options);
      const visible =
        namespaces === "all" ? ids : (await findAmong(ids, options, namespaces)).map(({ id }) => id);
      const found = await findReplays(visible, positions, options);
      return ids.map((id) => {
        const last = found.get(id)?.at(-1);
        return last === undefined ? null : toReplayView(last);
      });
    },

    /** Decides what a replay will send. Throws NotLoadedError if too many announcements are pending. */
    plan: (request: ReplayRequest) => plan(request, options),

    /** Sends what was planned, without what was replayed or superseded since. */
    send: (planned: ReplayPlan) => lock(() => send(planned, options)),
  };
}

/**
 * The sync's positions, and how many dead letters are not stored. The sync sends a dead letter before it
 * moves on, so everything rejected before these positions is among those that are waited for.
 */
async function catchUp({ sync, waitUntilStored }: DeadLetterServiceOptions) {
  const positions = await sync.findPositions();
  return { positions, unread: await waitUntilStored() };
}

/** Throws NotLoadedError unless every dead letter is stored. */
async function catchUpFully(options: DeadLetterServiceOptions): Promise<readonly SyncPosition[]> {
  const { positions, unread } = await catchUp(options);
  if (unread > 0) throw createNotStoredError(unread, options.getProblem());
  return positions;
}

/** The stored dead letters of these namespaces. */
async function findAmong(
  ids: readonly string[],
  { letters }: DeadLetterServiceOptions,
  namespaces: Namespaces,
): Promise<readonly StoredDeadLetter[]> {
  const found = await letters.find([...new Set(ids)]);
  return found.filter(({ namespace }) => includesNamespace(namespaces, namespace));
}

async function get(
  id: string,
  options: DeadLetterServiceOptions,
  namespaces: Namespaces,
): Promise<FoundDeadLetter | undefined> {
  const positions = await catchUpFully(options);
  const stored = await findAmong([id], options, namespaces);
  const replays = await findReplays([id], positions, options);
  const source = { ...options, proofKey: await options.getProofKey() };
  for await (const [{ copies, namespace }, letter] of readDeadLetters(stored, source))
    if (letter !== undefined)
      return { view: toDeadLetterView(letter, copies, replays.get(id) ?? []), namespace };
  return undefined;
}

async function plan(
  { ids, namespaces, again = false, force = false, others = false }: ReplayRequest,
  options: DeadLetterServiceOptions,
): Promise<ReplayPlan> {
  const { topic, kafka } = options;
  const positions = await catchUpFully(options);
  const partitions = (await kafka.fetchBounds(topic))?.size;
  if (partitions === undefined) throw new KafkaUnavailableError(`there is no Kafka topic named "${topic}"`);
  const found = await findAmong(ids, options, namespaces);
  const planned = await planReplay(found, {
    topic,
    partitions,
    states: createStates(positions, options),
    findReplays: (some) => findReplays(some, positions, options),
    again,
    findForeign: (externalIds) => options.sync.findForeign(externalIds, namespaces),
    force,
    others,
  });
  const missing = new Set(ids);
  for (const { id } of found) missing.delete(id);
  const skipped = [...missing].map((id) => skip(id, "missing", "there is no such dead letter"));
  return { ...planned, skipped: [...planned.skipped, ...skipped] };
}

async function send(planned: ReplayPlan, options: DeadLetterServiceOptions): Promise<SentReplays> {
  const positions = await catchUpFully(options);
  const proofKey = await options.getProofKey();
  const producer = options.createProducer();
  try {
    return await sendReplays(planned, {
      ...options,
      positions,
      states: createStates(positions, options),
      producer,
      keepTime: options.channel !== "announcements",
      proofKey,
    });
  } finally {
    await producer.close();
  }
}

const createStates = (
  positions: readonly SyncPosition[],
  { channel, kafka, ...options }: DeadLetterServiceOptions,
): TopicStates =>
  channel === "announcements" ? createTopicStates({ ...options, positions, reader: kafka }) : noTopicStates;
