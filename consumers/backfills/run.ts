import { UnavailableError } from "@topicsync/lib/errors";
import { elapsed, sleep } from "@topicsync/lib/platform";
import {
  getHeaderText,
  type EgressTopics,
  type LogRecord,
  type Position,
  type RouterConfig,
  type RoutingTransactions,
} from "@topicsync/kafka";
import { createPicker, type Picker } from "@topicsync/filters/picker";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import { toBackfillGroup, type Backfill, type BackfillRange } from "../../src/routing/backfill.ts";
import { RoutePlan, toRoutedEvent, type RoutedEvent, type RouteOptions } from "../../src/routing/plan.ts";
import { createCopySender } from "../events/copy-sender.ts";
import { decodeEvent, removeForgedHeaders } from "../events/decode.ts";
import { DeliveredEvents } from "./delivered.ts";
import { isOther, selectBackfillRanges, type BackfillKafka } from "./ranges.ts";

/** A backfill cannot continue until a person has changed something. */
export class BackfillFailedError extends Error {
  override readonly name = "BackfillFailedError";
}

export interface BackfillOptions extends Pick<RouteOptions, "naming" | "choosePartition"> {
  readonly router: Pick<RouterConfig, "topic" | "groupId" | "maxCopies">;
  readonly kafka: BackfillKafka;
  readonly egressTopics: EgressTopics;
  readonly maxEventBytes: number;
  /** Reads the key of the proofs of replays. Throws UnavailableError. */
  readonly getProofKey: () => Promise<Buffer>;
  /** Takes note of the progress, at once if it is needed later. Throws if the backfill is to end. */
  readonly keep: (ranges: readonly BackfillRange[], isNeeded?: boolean) => Promise<void>;
  readonly onSent: (copies: number) => void;
  readonly abort: AbortSignal;
}

const maxEventsPerBatch = 1_000;
const keepIntervalMs = 1_000;
/** After a pause, this much is made up for. */
const maxArrearsMs = 1_000;
/** What is read in vain is read again after a kill, since only a transaction moves the position. */
const maxUncommitted = 100_000;
/** Looking at the headers of a copy takes less than matching an event. */
const copiesPerEvent = 10;

/**
 * Forwards the events of a backfill. It can be run again at any time, also by another process.
 *
 * Invariants:
 * - The copies of a batch and the position are committed in one transaction, whose producer was claimed
 *   before the position was read.
 * - No event is forwarded that the Kafka topic already has a copy of. All copies that the router made of the
 *   ranges are known: it committed them before the ranges were selected.
 */
export class BackfillRun {
  readonly #backfill: Backfill;
  readonly #options: BackfillOptions;
  readonly #groupId: string;
  readonly #picker: Picker = createPicker();
  #ranges: readonly BackfillRange[] = [];
  #delivered = new DeliveredEvents("", []);
  #proofKey: Buffer | undefined;
  /** When the rate allows more. */
  #freeAt = 0;

  constructor(backfill: Backfill, options: BackfillOptions) {
    this.#backfill = backfill;
    this.#options = options;
    this.#groupId = toBackfillGroup(options.router.groupId, backfill);
    this.#picker.set(backfill.topic.externalId, backfill.topic);
  }

  /** Throws BackfillFailedError, UnavailableError, FencedError, what `keep` throws, and unexpected errors. */
  async run(): Promise<void> {
    const { kafka, router, keep, getProofKey } = this.#options;
    this.#ranges = this.#backfill.ranges ?? (await selectBackfillRanges(kafka, router, this.#backfill));
    await keep(this.#ranges, true);
    await this.#claimAll();
    const left = this.#ranges.filter(({ position, to }) => position < to);
    if (left.length > 0) {
      await this.#checkLog(left);
      this.#proofKey = await getProofKey();
      await this.#readDelivered();
      for (const range of left) await this.#forward(range);
    }
    await keep(this.#ranges, true);
  }

  #createTransactions({ partition }: Pick<BackfillRange, "partition">): RoutingTransactions {
    const { kafka, router } = this.#options;
    return kafka.createTransactions({
      partition: { topic: router.topic, partition },
      groupId: this.#groupId,
    });
  }

  /** Fences a former owner everywhere, and ends its transaction, which would hide copies for a minute. */
  async #claimAll(): Promise<void> {
    for (const range of this.#ranges) {
      if (range.position >= range.to) continue;
      const transactions = this.#createTransactions(range);
      try {
        this.#advance(range, (await transactions.claim())?.offset ?? 0, 0);
      } finally {
        await transactions.close();
      }
      await this.#options.keep(this.#ranges);
    }
  }

  /** Later positions count only. */
  #advance({ partition }: Pick<BackfillRange, "partition">, offset: number, copies: number): void {
    this.#ranges = this.#ranges.map((range) =>
      range.partition === partition
        ? { ...range, position: Math.max(range.position, offset), copies: range.copies + copies }
        : range,
    );
  }

  async #checkLog(ranges: readonly BackfillRange[]): Promise<void> {
    const { kafka, router } = this.#options;
    const bounds = await kafka.fetchBounds(router.topic);
    if (bounds === undefined) throw new UnavailableError(`there is no Kafka topic named "${router.topic}"`);
    for (const { partition, position, topicId } of ranges) {
      const { low = 0, topicId: found } = bounds.get(partition) ?? {};
      if (isOther(topicId, found))
        throw new BackfillFailedError(`the Kafka topic "${router.topic}" was deleted and created again`);
      if (low > position)
        throw new BackfillFailedError(
          `Kafka deleted the offsets ${position} to ${low - 1} of partition ${partition} before they were read`,
        );
    }
  }

  /** Reads which events the Kafka topic has copies of for this topic. */
  async #readDelivered(): Promise<void> {
    const { kafka, router, abort } = this.#options;
    const { egressTopic: topic, from, topic: wanted } = this.#backfill;
    this.#delivered = new DeliveredEvents(router.topic, this.#ranges);
    if ((await kafka.fetchBounds(topic)) === undefined) return;
    // Up to the high watermark: the transactions that the router has committed may still be completing.
    const bounds = await kafka.observe({ topic, groupId: this.#groupId }).fetchBounds("all");
    const since = await kafka.findFirstSince(topic, from.getTime());
    const ranges = [...bounds].map(([partition, { low, high }]) => ({
      partition,
      from: Math.max(low, since.get(partition) ?? low),
      to: high,
    }));
    for await (const { records } of kafka.readRanges(topic, { ranges, abort })) {
      for (const { headers } of records) {
        const event = getHeaderText(headers, routedEventHeader.event);
        if (event !== undefined && getHeaderText(headers, routedEventHeader.topic) === wanted.externalId)
          this.#delivered.add(event);
      }
      await this.#rest(records.length / copiesPerEvent);
    }
  }

  async #forward(range: BackfillRange): Promise<void> {
    const { kafka, router, egressTopics, abort } = this.#options;
    const { partition, to, epoch } = range;
    const transactions = this.#createTransactions(range);
    try {
      const send = createCopySender({ transactions, egressTopics });
      let committed: Position | undefined = await transactions.claim();
      const from = Math.max(range.position, committed?.offset ?? 0);
      let uncommitted = 0;
      const ranges = [{ partition, from, to }];
      for await (const { records, end } of kafka.readRanges(router.topic, { ranges, abort })) {
        let rest = records;
        do {
          const { plan, ids, taken } = this.#plan(rest, range);
          const last = rest[taken - 1];
          rest = rest.slice(taken);
          const next = rest.length === 0 || last === undefined ? end : last.offset + 1;
          uncommitted += taken;
          if (plan.size > 0 || next >= to || uncommitted >= maxUncommitted) {
            const position: Position = { offset: next, epoch, topicId: range.topicId ?? undefined };
            await this.#commit(plan, { transactions, send, from: committed, to: position });
            [committed, uncommitted] = [position, 0];
            for (const id of ids) this.#delivered.add(id);
          }
          this.#advance(range, next, plan.size);
          await this.#rest(taken);
        } while (rest.length > 0);
      }
    } finally {
      await transactions.close();
    }
  }

  /** Plans the copies of the first of these records. */
  #plan(records: readonly LogRecord[], range: BackfillRange) {
    const { router, naming, choosePartition } = this.#options;
    const { id, topic, rate } = this.#backfill;
    const plan = new RoutePlan({
      ...{ naming, choosePartition, maxCopies: router.maxCopies, backfill: id, unmatchedTopic: undefined },
      partition: { topic: router.topic, partition: range.partition },
      getNamespace: () => topic.namespace,
    });
    const ids = new Set<string>();
    let taken = 0;
    for (const record of records.slice(0, Math.min(maxEventsPerBatch, rate))) {
      const event = this.#route(record, range);
      if (event !== undefined && !ids.has(event.id)) {
        if (!plan.add(event)) break;
        ids.add(event.id);
      }
      taken += 1;
    }
    return { plan, ids, taken };
  }

  /** The event of a record; undefined if it is not to be forwarded. What is not an event is a dead letter. */
  #route(given: LogRecord, { partition: number, epoch }: BackfillRange): RoutedEvent | undefined {
    const { router, maxEventBytes } = this.#options;
    // Timestamps need not grow, and copies of earlier events were not looked for.
    if (Number(given.timestamp) < this.#backfill.from.getTime()) return undefined;
    const partition = { topic: router.topic, partition: number };
    const record = removeForgedHeaders(given, partition, this.#proofKey);
    const decoded = decodeEvent(record, maxEventBytes);
    if ("rejection" in decoded) return undefined;
    const picked = this.#picker.pick(decoded.event, decoded.record);
    const event = toRoutedEvent(record, { partition, epoch, picked });
    return event.topics.length === 0 || this.#delivered.has(event.id) ? undefined : event;
  }

  /** Notes the progress, and waits until the rate allows more. */
  async #rest(count: number): Promise<void> {
    const { keep, abort } = this.#options;
    const since = Math.max(this.#freeAt, elapsed() - maxArrearsMs);
    this.#freeAt = since + (count * 1_000) / this.#backfill.rate;
    do {
      await keep(this.#ranges);
      await sleep(Math.min(keepIntervalMs, Math.max(0, this.#freeAt - elapsed())), abort);
    } while (elapsed() < this.#freeAt && !abort.aborted);
  }

  async #commit(plan: RoutePlan, { transactions, send, from, to }: Commit): Promise<void> {
    const { egressTopics, onSent } = this.#options;
    const { egressTopic } = this.#backfill;
    const found = await egressTopics.find(plan.names);
    const obstacle = found.get(egressTopic);
    if (typeof obstacle === "object")
      throw new BackfillFailedError(`the Kafka topic "${egressTopic}" cannot be used: ${obstacle.reason}`);
    const { transaction, undelivered, forwarded } = await send(plan, found, { from, to });
    const [first] = undelivered;
    if (first !== undefined) {
      // Ends the transaction.
      await transactions.claim();
      throw new BackfillFailedError(
        `the Kafka topic "${egressTopic}" rejects the copy of ${first.event.id}: ${first.reason}`,
      );
    }
    await transaction.commit();
    onSent(forwarded);
  }
}

interface Commit {
  readonly transactions: RoutingTransactions;
  readonly send: ReturnType<typeof createCopySender>;
  readonly from: Position | undefined;
  readonly to: Position;
}
