import type {
  DeadLetterChannel,
  DeadLetterItem,
  DeadLetterList,
  DeadLetterView,
  ReplayView,
} from "../../schemas/dead-letter-api.ts";
import { createCursorFormat } from "../lib/cursor.ts";
import { KafkaUnavailableError } from "../lib/errors.ts";
import { createMutex } from "../lib/mutex.ts";
import { formatRecordPosition, type LogReader, type RecordProducer } from "../sync/records.ts";
import { parseDeadLetter, type DeadLetterCode, type IdentifyTopic } from "./dead-letter.ts";
import { getOutcome, type ReplayWithOutcome } from "./outcomes.ts";
import { createNotStoredError } from "./progress.ts";
import { readRecords } from "./records.ts";
import { planReplay, skip, type ReplayPlan } from "./replay-plan.ts";
import { sendReplays, type SentReplays } from "./replay.ts";
import type {
  DeadLetterFilter,
  DeadLetterKey,
  DeadLetterReader,
  Replay,
  ReplayStore,
  SyncPosition,
  SyncState,
} from "./stores.ts";
import type { StoredDeadLetter } from "./summary.ts";
import { createTopicStates, noTopicStates, type TopicStates } from "./topic-states.ts";
import { toDeadLetterItem, toDeadLetterView, toReplayView } from "./views.ts";

export interface DeadLetterServiceOptions {
  readonly channel: DeadLetterChannel;
  /** The Kafka topic that the dead letters came from and are replayed to. */
  readonly topic: string;
  readonly deadLetterTopic: string;
  readonly kafka: LogReader;
  readonly letters: DeadLetterReader;
  /**
   * Waits until the dead letters are stored that Kafka has now, as long as the caller can wait. Returns how
   * many are not stored then. Throws UnavailableError.
   */
  readonly waitUntilStored: () => Promise<number>;
  /** Creates a producer for `topic`, which each replay closes at its end. */
  readonly createProducer: () => RecordProducer;
  readonly replays: ReplayStore;
  readonly sync: SyncState;
  readonly identify: IdentifyTopic;
  /** Reads the key of the proofs of replays. Undefined: they need no proof. */
  readonly getProofKey: (() => Promise<Buffer>) | undefined;
  readonly abort: AbortSignal;
}

export interface ListRequest {
  readonly filter: DeadLetterFilter;
  /** Only those that were replayed, or only those that were not. */
  readonly replayed?: boolean | undefined;
}

export interface PageRequest extends ListRequest {
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
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
 * The dead letters of one channel, for HTTP and the command line. Every function throws UnavailableError,
 * and, except for `list`, NotLoadedError if the dead letters are not stored in time; those that read whole
 * records throw OverloadedError if too many callers wait.
 */
export interface DeadLetterService {
  /**
   * A page, newest first, with the number of dead letters. Throws a RejectionError if the cursor is not
   * valid.
   */
  list(request: PageRequest): Promise<Omit<DeadLetterList, "channels">>;
  /** All of them, newest first, in batches. */
  readAll(request: ListRequest): AsyncGenerator<readonly DeadLetterItem[]>;
  countByCode(): Promise<Readonly<Record<string, number>>>;
  /** Undefined if there is none with this id. One that Kafka has deleted is removed. */
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

const maxWaiting = 20;
const batchSize = 500;
/** A search that finds few replays ends its page after looking up this many. */
const maxLookUpsPerPage = 10_000;

/** Creates the service. */
export function createDeadLetterService(options: DeadLetterServiceOptions): DeadLetterService {
  const { channel, topic, deadLetterTopic, kafka, letters, replays, sync, identify, abort } = options;
  // Whole records take memory.
  const lock = createMutex({ maxWaiting, message: "too many requests are waiting for dead letters" });

  /**
   * The sync's positions, and how many dead letters are not stored. The sync sends a dead letter before it
   * moves on, so everything rejected before these positions is among those that are waited for.
   */
  async function catchUp() {
    const positions = await sync.findPositions();
    return { positions, unread: await options.waitUntilStored() };
  }

  /** Throws NotLoadedError unless every dead letter is stored. */
  async function catchUpFully(): Promise<readonly SyncPosition[]> {
    const { positions, unread } = await catchUp();
    if (unread > 0) throw createNotStoredError(unread);
    return positions;
  }

  async function findReplays(
    ids: readonly string[],
    positions: readonly SyncPosition[],
  ): Promise<ReadonlyMap<string, readonly ReplayWithOutcome[]>> {
    const found = await replays.find(ids);
    const codes = await findCodes(found);
    const facts = { positions, findCode: (id: string) => codes.get(id) };
    return Map.groupBy(
      found.map((replay): ReplayWithOutcome => ({ ...replay, outcome: getOutcome(replay, facts) })),
      ({ deadLetterId }) => deadLetterId,
    );
  }

  /** The codes of replays that were rejected again, by the id of the new dead letter. */
  async function findCodes(found: readonly Replay[]): Promise<ReadonlyMap<string, DeadLetterCode>> {
    const ids = found.flatMap(({ sentTo: { topic, partition, offset, epoch = 1 } }) =>
      partition === undefined || offset === undefined
        ? []
        : [formatRecordPosition({ topic, partition, offset, epoch })],
    );
    return new Map((await letters.find(ids)).map(({ id, code }) => [id, code]));
  }

  const createStates = (positions: readonly SyncPosition[]): TopicStates =>
    channel !== "announcements"
      ? noTopicStates
      : createTopicStates({ sync, positions, identify, reader: kafka, topic, abort });

  /** Batches of dead letters with their last replays. */
  async function* readItems(
    { filter, replayed }: ListRequest,
    positions: readonly SyncPosition[],
    { after, batchSize }: { readonly after?: DeadLetterKey | undefined; readonly batchSize: number },
  ) {
    for await (const batch of letters.stream(filter, { newestFirst: true, after, batchSize })) {
      const found = await findReplays(
        batch.map(({ id }) => id),
        positions,
      );
      const items = batch.map((letter) => ({ letter, replay: found.get(letter.id)?.at(-1) }));
      yield items.map(({ letter, replay }) => ({
        letter,
        item:
          replayed === undefined || replayed === (replay !== undefined)
            ? toDeadLetterItem(letter, replay)
            : undefined,
      }));
    }
  }

  async function readPage(request: PageRequest, positions: readonly SyncPosition[]) {
    const { replayed, limit } = request;
    const after = request.after === undefined ? undefined : parseCursor(request.after);
    const deadLetters: DeadLetterItem[] = [];
    let last: StoredDeadLetter | undefined;
    let lookUps = 0;
    // One more than the page has shows whether there is a next one.
    const size = { after, batchSize: replayed === undefined ? limit + 1 : batchSize };
    for await (const batch of readItems(request, positions, size)) {
      for (const { letter, item } of batch) {
        const isFull = deadLetters.length === limit || lookUps === maxLookUpsPerPage;
        if (isFull) return { deadLetters, next: last === undefined ? null : toCursor(last) };
        last = letter;
        lookUps += 1;
        if (item !== undefined) deadLetters.push(item);
      }
    }
    return { deadLetters, next: null };
  }

  /** Whole dead letters. Those that Kafka has deleted, or whose log was replaced, are removed. */
  async function* read(ids: readonly string[]): AsyncGenerator<DeadLetterView, void> {
    const positions = await catchUpFully();
    const stored = new Map((await letters.find(ids)).map((one) => [one.id, one]));
    const found = await findReplays(ids, positions);
    const wanted = ids.map((id) => stored.get(id)).filter((one) => one !== undefined);
    for await (const [{ id, position, copies }, record] of readRecords(kafka, deadLetterTopic, wanted)) {
      const letter =
        record && parseDeadLetter(deadLetterTopic, { partition: position.partition, record }, identify);
      if (letter?.id === id) yield toDeadLetterView(letter, copies, found.get(id) ?? []);
      else await letters.remove(id, position);
    }
  }

  return {
    async list(request) {
      const { positions, unread } = await catchUp();
      const [page, counts] = await Promise.all([readPage(request, positions), letters.countByCode()]);
      const total = Object.values(counts).reduce((sum, one) => sum + one, 0);
      return { counts, total, unlisted: unread, ...page };
    },

    async *readAll(request) {
      const positions = await catchUpFully();
      for await (const batch of readItems(request, positions, { batchSize }))
        yield batch.flatMap(({ item }) => item ?? []);
    },

    countByCode: () => letters.countByCode(),

    get: (id) =>
      lock(async () => {
        for await (const letter of read([id])) return letter;
        return undefined;
      }),
    read,

    async getOutcomes(ids) {
      const found = await findReplays(ids, await catchUpFully());
      return ids.map((id) => {
        const last = found.get(id)?.at(-1);
        return last === undefined ? null : toReplayView(last);
      });
    },

    async plan({ filter, again = false, force = false, others = false }) {
      const positions = await catchUpFully();
      const partitions = (await kafka.fetchBounds(topic))?.size;
      if (partitions === undefined)
        throw new KafkaUnavailableError(`there is no Kafka topic named "${topic}"`);
      const seen = new Set<string>();
      const plan = await planReplay(letters.stream(filter, { newestFirst: false, batchSize }), {
        topic,
        partitions,
        states: createStates(positions),
        findReplays(ids) {
          if (filter.ids !== undefined) for (const id of ids) seen.add(id);
          return findReplays(ids, positions);
        },
        again,
        force,
        others,
      });
      const missing = [...(filter.ids ?? [])].filter((id) => !seen.has(id));
      const skipped = missing.map((id) => skip(id, "missing", "there is no such dead letter"));
      return { ...plan, skipped: [...plan.skipped, ...skipped] };
    },

    send: (plan, onSent = () => undefined) =>
      lock(async () => {
        const positions = await catchUpFully();
        const proofKey = await options.getProofKey?.();
        const producer = options.createProducer();
        try {
          return await sendReplays(plan, {
            deadLetterTopic,
            identify,
            kafka,
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

const cursors = createCursorFormat("dead-letters", ["integer", "integer", "integer"]);

const toCursor = ({ rank, position }: StoredDeadLetter): string =>
  cursors.encode([rank, position.partition, position.offset]);

/** Throws a RejectionError. */
function parseCursor(cursor: string): DeadLetterKey {
  const [rank, partition, offset] = cursors.decode(cursor);
  return { rank, partition, offset };
}
