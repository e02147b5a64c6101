import assert from "node:assert/strict";
import { it } from "node:test";

import { ConfigurationError, UnavailableError } from "@topicsync/lib/errors";
import {
  createEgressNaming,
  RecordRejectedError,
  type RoutedRecord,
  type RoutingTransaction,
  type RoutingTransactions,
  FencedError,
  type ClaimedPosition,
  type Position,
  getHeaderText,
  type LogRecord,
  type SendRejection,
} from "@topicsync/kafka";
import { createEventHandler } from "../../../../consumers/events/handler.ts";
import { createRandom, type Random } from "../../../support/random.ts";

const partition = { topic: "events", partition: 0 };
const eventCount = 12;

const topics = ["a", "b", "c"];
/** An event that belongs to all topics, and the Kafka topics that reject it. */
const createEvent = (offset: number, rejectedBy: readonly string[]): LogRecord => ({
  ...{ offset, timestamp: "1", key: null, headers: [] },
  value: Buffer.from(JSON.stringify({ eventId: `${offset}`, eventType: "E", event: { rejectedBy } })),
});
const isRejected = ({ topic, value }: RoutedRecord): boolean => String(value).includes(topic);
const rejection: SendRejection = { reason: "not-acceptable", message: "no" };

const describeRecord = ({ topic, headers }: RoutedRecord): string =>
  topic === "letters"
    ? `letter ${getHeaderText(headers, "__connect.errors.offset")} ${getHeaderText(headers, "topicsync.code")}`
    : `${topic} ${getHeaderText(headers, "topicsync.event")}`;

/** Kafka, whose requests fail in many ways. Nothing goes on after an error until the next claim. */
class FailingKafka implements RoutingTransactions {
  readonly committed: string[] = [];
  readonly misuses: string[] = [];
  readonly #random: Random;
  #position: Position | undefined;
  #isClaimed = false;
  #open: { readonly to: Position; readonly sent: string[] } | undefined;
  #failures = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  claim(): Promise<ClaimedPosition | undefined> {
    this.#drop();
    return this.#attempt(() => {
      this.#isClaimed = true;
      return this.#position && { ...this.#position, isOurs: true };
    });
  }

  findPosition(): Promise<Position | undefined> {
    return this.#attempt(() => this.#position);
  }

  begin(to: Position): Promise<RoutingTransaction> {
    this.#require(this.#isClaimed && this.#open === undefined, "begins without a claim");
    return this.#attempt((): RoutingTransaction => {
      const open = { to, sent: [] as string[] };
      this.#open = open;
      const use = <T>(action: () => T): Promise<T> => {
        this.#require(this.#open === open, "goes on after an error");
        return this.#attempt(action);
      };
      return {
        sendAll: (records) =>
          use(() => {
            for (const record of records) {
              if (isRejected(record)) throw new RecordRejectedError(rejection);
              open.sent.push(describeRecord(record));
            }
          }),
        sendEach: (records) =>
          use(() =>
            records.map((record) => {
              if (isRejected(record)) return { rejection };
              open.sent.push(describeRecord(record));
              return { partition: record.partition, offset: 0 };
            }),
          ),
        commit: () =>
          use(() => {
            this.committed.push(...open.sent);
            this.#position = to;
            this.#open = undefined;
          }),
      };
    });
  }

  async find(names: Iterable<string>): Promise<ReadonlyMap<string, number>> {
    await Promise.resolve();
    if (this.#isFailing()) throw new UnavailableError("no metadata");
    return new Map([...names].map((name) => [name, 1]));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #drop(): void {
    this.#isClaimed = false;
    this.#open = undefined;
  }

  #require(condition: boolean, misuse: string): void {
    if (!condition) this.misuses.push(misuse);
  }

  #isFailing(): boolean {
    return this.#random.chance(0.12);
  }

  /** Fails before or after the action. No two unforeseen errors are the same. */
  async #attempt<T>(action: () => T): Promise<T> {
    await Promise.resolve();
    try {
      if (this.#isFailing()) throw this.#createError();
      const result = action();
      if (this.#isFailing()) throw this.#createError();
      return result;
    } catch (error) {
      this.#drop();
      throw error;
    }
  }

  #createError(): Error {
    this.#failures += 1;
    return this.#random.pick([
      new UnavailableError("away"),
      new UnavailableError("away"),
      new FencedError("fenced"),
      new ConfigurationError("denied"),
      new TypeError(`failure ${this.#failures}`),
    ]);
  }
}

async function run(seed: number): Promise<void> {
  const random = createRandom(seed);
  const kafka = new FailingKafka(random);
  const rejections = Array.from({ length: eventCount }, () =>
    ["to.b", "to.c"].filter(() => random.chance(0.15)),
  );
  const records = rejections.map((rejectedBy, offset) => createEvent(offset, rejectedBy));
  let counted = 0;
  const handler = createEventHandler({
    partition,
    groupId: "group",
    index: {
      waitUntilLive: () => Promise.resolve(),
      status: () => ({ state: "live", topics: topics.length, unreadable: 0 }) as never,
      pickNow: () => (random.chance(0.05) ? undefined : topics),
      getNamespace: () => "",
      takeMissedTimes: () => 0,
      countPicked: () => void (counted += 1),
    },
    naming: createEgressNaming("to.{externalId}", new Set()),
    transactions: kafka,
    egressTopics: { find: (names) => kafka.find(names), deny: () => undefined, forget: () => undefined },
    deadLetterTopic: "letters",
    maxEventBytes: 1_000,
    unmatchedTopic: undefined,
    maxCopies: 10,
    getProofKey: () => Promise.resolve(Buffer.alloc(32)),
    choosePartition: () => 0,
    routed: () => undefined,
    tracing: undefined,
  });

  let from: Position | undefined;
  let isClaimed = false;
  for (let attempt = 0; (from?.offset ?? 0) < eventCount; attempt += 1) {
    assert.ok(attempt < 1_000, "the end is reached");
    try {
      if (!isClaimed) from = await handler.claim();
      isClaimed = true;
      const start = from?.offset ?? 0;
      if (start === eventCount) break;
      const prepared = handler.prepare(records.slice(start, start + random.between(1, 4)), 1);
      const to = { offset: (prepared.records.at(-1)?.offset ?? 0) + 1, epoch: 1 };
      await handler.write(prepared, { from, to }, () => undefined);
      from = to;
    } catch {
      isClaimed = false;
    }
  }

  const expected = rejections.flatMap((rejectedBy, offset) => [
    ...topics
      .filter((topic) => !rejectedBy.includes(`to.${topic}`))
      .map((topic) => `to.${topic} events-0-${offset}`),
    ...(rejectedBy.length > 0 ? [`letter ${offset} EGRESS_REJECTED`] : []),
  ]);
  assert.deepEqual(kafka.misuses, []);
  assert.deepEqual(kafka.committed.toSorted(), expected.toSorted());
  assert.equal(counted, eventCount);
}

it("the router has each copy once, and dead letters only of what Kafka rejects, however its requests fail", async () => {
  for (let seed = 1; seed <= 200; seed += 1)
    await run(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
});
