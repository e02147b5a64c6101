import { isChosen, type Choice } from "./choose.ts";
import type { IdentifyTopic } from "./dead-letter.ts";
import { openMailbox, type CountedLetter, type LetterLog, type Mailbox } from "./mailbox.ts";
import { getOutcome, type ReplayWithOutcome } from "./outcome.ts";
import type { ReplayStore, SyncState } from "./stores.ts";

/** What is looked into. */
export interface DeadLetters {
  readonly mailbox: Mailbox;
  readonly replays: ReplayStore;
  readonly sync: SyncState;
  readonly identify: IdentifyTopic;
  /** How far the sync had come before the mailbox was opened. */
  readonly positions: Awaited<ReturnType<SyncState["positions"]>>;
}

/**
 * Opens the dead letters. The positions are read first: the sync sends a letter before it moves on, so whatever was
 * refused before these positions lies in the mailbox. Throws UnavailableError.
 */
export async function openDeadLetters(
  log: LetterLog,
  { replays, sync }: Pick<DeadLetters, "replays" | "sync">,
): Promise<DeadLetters> {
  const positions = await sync.positions();
  return { mailbox: await openMailbox(log), replays, sync, identify: log.identify, positions };
}

/** A letter with its replays, the oldest first. */
export interface ListedLetter extends CountedLetter {
  readonly replays: readonly ReplayWithOutcome[];
}

/** Looked up together. */
const batchSize = 500;

/**
 * The chosen letters in the order of the dead-letter topic; with `replayed`, those that were replayed before, or those
 * that were not. Throws UnavailableError.
 */
export async function* listLetters(
  { mailbox, replays, positions }: DeadLetters,
  choice: Choice,
  replayed?: boolean,
): AsyncGenerator<ListedLetter, void, undefined> {
  const facts = { positions, codeOf: (id: string) => mailbox.codeOf(id) };
  for await (const batch of inBatches(chosenIn(mailbox, choice))) {
    const made = Map.groupBy(await replays.of(batch.map(({ letter }) => letter.id)), ({ letter }) => letter);
    for (const counted of batch) {
      const own = made.get(counted.letter.id) ?? [];
      if (replayed !== undefined && replayed !== own.length > 0) continue;
      yield { ...counted, replays: own.map((one) => ({ ...one, outcome: getOutcome(one, facts) })) };
    }
  }
}

async function* chosenIn(mailbox: Mailbox, choice: Choice): AsyncGenerator<CountedLetter, void, undefined> {
  for await (const counted of mailbox.letters()) if (isChosen(counted.letter, choice)) yield counted;
}

/** The same, in batches of what is looked up together. */
export async function* inBatches<T>(all: AsyncIterable<T>): AsyncGenerator<T[], void, undefined> {
  let batch: T[] = [];
  for await (const one of all) {
    batch.push(one);
    if (batch.length < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
