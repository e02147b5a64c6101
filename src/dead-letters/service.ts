import type { DeadLetterChannel, DeadLetterItem } from "../../schemas/dead-letters.ts";
import { NotLoadedError } from "../lib/errors.ts";
import type { LogReader, RecordProducer } from "../sync/records.ts";
import { createMutex } from "../lib/mutex.ts";
import { listLetters, type DeadLetters, type ListedLetter } from "./browse.ts";
import { findDestination } from "./destination.ts";
import { toListItem } from "./summary.ts";
import type { IdentifyTopic, DeadLetterCode } from "./dead-letter.ts";
import { createDeadLetterIndex } from "./dead-letter-index.ts";
import { openMailbox } from "./mailbox.ts";
import { getOutcome, type ReplayWithOutcome } from "./outcome.ts";
import { readPage, type PageRequest } from "./page.ts";
import { planReplay, type SkippedLetter } from "./plan.ts";
import type { Replay, ReplayStore, SyncState } from "./stores.ts";
import { sendReplays } from "./replay.ts";
import { createRecordCache } from "./record-cache.ts";
import { createTopicStates, noTopicStates } from "./topic-states.ts";

export interface DeadLetterServiceOptions {
  readonly channel: DeadLetterChannel;
  /** The Kafka topic that they were refused from, and are sent back to. */
  readonly topic: string;
  readonly deadLetterTopic: string;
  readonly reader: LogReader;
  readonly producer: RecordProducer;
  readonly replays: ReplayStore;
  readonly sync: SyncState;
  readonly identify: IdentifyTopic;
  readonly abort: AbortSignal;
}

/** A page of letters, the newest first, and how many there are. */
export interface DeadLetterPage {
  readonly counts: ReadonlyMap<DeadLetterCode, number>;
  readonly all: number;
  /** About how many are too old to be counted and listed. */
  readonly older: number;
  readonly letters: readonly (Omit<DeadLetterItem, "replay"> & {
    readonly replay: ReplayWithOutcome | undefined;
  })[];
  readonly next: string | undefined;
}

/** Which letters to send back, by their ids, and how. */
export interface ReplayRequest {
  readonly ids: readonly string[];
  readonly again: boolean;
  readonly force: boolean;
  /** Only says what would be sent. */
  readonly dryRun: boolean;
}

export interface ReplaySummary {
  readonly to: string;
  /** The ids of what was sent, or would be. */
  readonly sent: readonly string[];
  readonly skipped: readonly SkippedLetter[];
}

/**
 * The dead letters of one channel within the service, where many may look at them: the topic is read once and then read on,
 * and of each letter but the newest only a few facts stay in memory. All functions throw UnavailableError, and NotLoadedError where the
 * first reading takes long; those that need whole letters throw OverloadedError where too many wait for theirs.
 */
export interface DeadLetterService {
  page(wish: PageRequest): Promise<DeadLetterPage>;
  /** Undefined where there is no such letter among the newest. */
  show(id: string): Promise<ListedLetter | undefined>;
  /** The last replay of each letter and what came of it; undefined where there was none. */
  outcomes(ids: readonly string[]): Promise<readonly (ReplayWithOutcome | undefined)[]>;
  replay(wish: ReplayRequest): Promise<ReplaySummary>;
}

/** The newest letters that are known; measured with 700 bytes each, this is 35 MB. */
const maxDeadLetters = 50_000;
/** Of the newest ones that are at hand whole, and of those that were looked at last. */
const maxBytesAtHand = 8 * 1024 * 1024;
/** Whoever asks does not wait longer for the first reading of a large topic; it goes on. */
const maxWaitMs = 10_000;
/** For whole letters. */
const maxWaiting = 20;

/** Opens the office; nothing is read before somebody asks. */
export function createDeadLetterService(options: DeadLetterServiceOptions): DeadLetterService {
  const { channel, topic, deadLetterTopic, reader, producer, replays, sync, identify, abort } = options;
  const shelf = createRecordCache({ reader, topic: deadLetterTopic, maxBytes: maxBytesAtHand, abort });
  const index = createDeadLetterIndex({
    reader,
    topic: deadLetterTopic,
    identify,
    most: maxDeadLetters,
    passing: shelf.keep,
    abort,
  });
  const inTurn = createMutex({ maxWaiting: maxWaiting, refusal: "too many wait for dead letters" });
  let looking: Promise<DeadLetters["positions"]> | undefined;

  /** Reads on, and gives how far the sync had come before. Whoever asks meanwhile gets the same. */
  function look(): Promise<DeadLetters["positions"]> {
    looking ??= lookAnew().finally(() => {
      looking = undefined;
    });
    return withinReason(looking);
  }

  async function lookAnew(): Promise<DeadLetters["positions"]> {
    // A letter is sent before the sync moves on: whatever was refused before these positions is found after them.
    const positions = await sync.positions();
    await index.readOn();
    return positions;
  }

  const codeOf = (id: string) => index.find(id)?.code;

  async function replaysOf(
    ids: readonly string[],
    positions: DeadLetters["positions"],
  ): Promise<ReadonlyMap<string, readonly ReplayWithOutcome[]>> {
    const made = (await replays.of(ids)).map((one: Replay) => {
      return { ...one, outcome: getOutcome(one, { positions, codeOf }) };
    });
    return Map.groupBy(made, ({ letter }) => letter);
  }

  /** Letters as the command line has them, but of the whole topic only these. */
  async function open(ids: readonly string[], positions: DeadLetters["positions"]): Promise<DeadLetters> {
    const places = ids.flatMap((id) => index.find(id)?.at ?? []);
    const mailbox = await openMailbox({
      topic: deadLetterTopic,
      identify,
      read: () => shelf.take(places),
    });
    return { mailbox: { ...mailbox, codeOf }, replays, sync, identify, positions };
  }

  return {
    async page(wish) {
      const positions = await look();
      const { letters, next } = await readPage(index.all(), wish, (ids) => replaysOf(ids, positions));
      return {
        counts: new Map(
          [...Map.groupBy(index.all(), ({ code }) => code)].map(([code, all]) => [code, all.length]),
        ),
        all: index.all().length,
        older: index.older(),
        letters: letters.map(({ facts, replay }) => ({ ...toListItem(facts), replay })),
        next,
      };
    },

    async show(id) {
      const positions = await look();
      const facts = index.find(id);
      if (facts === undefined) return undefined;
      return inTurn(async () => {
        for await (const listed of listLetters(await open([id], positions), {}))
          return { ...listed, copies: facts.copies };
        return undefined;
      });
    },

    async outcomes(ids) {
      const found = await replaysOf(ids, await look());
      return ids.map((id) => found.get(id)?.at(-1));
    },

    async replay({ ids, again, force, dryRun }) {
      const positions = await look();
      return inTurn(async () => {
        const opened = await open(ids, positions);
        const states =
          channel === "push-feedback"
            ? noTopicStates
            : createTopicStates({ ...opened, reader, topic, abort });
        const letters = { ...opened, states };
        const to = await findDestination(reader, topic, { namesTime: channel === "push-feedback" });
        const plan = await planReplay(letters, to, { choice: {}, again, force });
        const planned = plan.send.map(({ id }) => id);
        const known = new Set([...planned, ...plan.skipped.map(({ id }) => id)]);
        const skipped = [
          ...plan.skipped,
          ...[...new Set(ids)].filter((id) => !known.has(id)).map((id) => skip(id, "missing")),
        ];
        if (dryRun) return { to: topic, sent: planned, skipped };
        const result = await sendReplays(plan, {
          ...letters,
          to,
          producer,
          now: () => new Date(),
          abort,
          progress: () => undefined,
        });
        const { sent, refused, failure } = result;
        if (failure !== undefined && sent.length === 0) throw failure;
        const through = new Set([...sent, ...refused.map(({ id }) => id)]);
        const left = planned.filter((id) => !through.has(id)).map((id) => skip(id, "interrupted"));
        return { to: topic, sent, skipped: [...skipped, ...refused, ...left] };
      });
    },
  };
}

const reasons = {
  missing: "there is no such dead letter among the newest",
  interrupted: "Kafka or the database stopped answering, or the service is stopping",
} as const;

const skip = (id: string, kind: keyof typeof reasons): SkippedLetter => ({ id, kind, reason: reasons[kind] });

/** Waits, but not for ever. Throws NotLoadedError. */
async function withinReason<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new NotLoadedError("the dead letters are still being read"));
    }, maxWaitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
