import {
  choosePartition,
  FencedError,
  type EgressNaming,
  type EgressTopics,
  type RouterConfig,
} from "@topicsync/kafka";
import { getErrorMessage, UnavailableError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { currentDate, elapsed, repeat } from "@topicsync/lib/platform";
import { newId } from "@topicsync/lib/sys-id";
import { BackfillFailedError, BackfillRun } from "../../../consumers/backfills/run.ts";
import { toBackfillGroup, type Backfill, type BackfillEnd } from "../../routing/backfill.ts";
import type { Context } from "../context.ts";

interface BackfillsOptions {
  readonly router: RouterConfig;
  readonly naming: EgressNaming;
  readonly egressTopics: EgressTopics;
}

const pollMs = 3_000;
/** Another instance takes a backfill over after this time without progress. */
const leaseMs = 15_000;
const keepIntervalMs = 1_000;
const retryMs = 5_000;
/** At the same time in this process. */
const maxRunning = 2;

/** A backfill that this process runs. */
interface Running {
  readonly backfill: Backfill;
  /** Another one each time, so that a run ends that has lost its lease, also to this process. */
  readonly owner: string;
  ranges: Backfill["ranges"];
}

/** The backfill was cancelled, or has another owner. */
class BackfillLostError extends Error {
  override readonly name = "BackfillLostError";
}

/**
 * Runs the backfills of all instances, a few at a time. A lease in the store lets one instance run each;
 * what two of them send at the same time all the same, Kafka rejects of one.
 */
export class BackfillRunner {
  readonly #options: BackfillsOptions;
  readonly #context: Context;
  readonly #log: Logger;
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #polling: Promise<void> | undefined;

  constructor(options: BackfillsOptions, context: Context) {
    this.#options = options;
    this.#context = context;
    this.#log = context.log.child({ component: "backfills" });
  }

  start(): void {
    const stopPolling = repeat(pollMs, this.wake);
    this.#context.lifecycle.onStop("backfills", async () => {
      stopPolling();
      this.#stopping.abort();
      await this.#polling;
      await Promise.all(this.#running);
    });
    this.wake();
  }

  /** Looks for backfills that are due. */
  readonly wake = (): void => {
    if (this.#stopping.signal.aborted) return;
    this.#polling ??= this.#poll()
      .catch((error: unknown) => {
        this.#log.debug({ reason: getErrorMessage(error) }, "backfills not looked up");
      })
      .finally(() => {
        this.#polling = undefined;
      });
  };

  async #poll(): Promise<void> {
    const { backfillStore } = this.#context.services;
    while (this.#running.size < maxRunning && !this.#stopping.signal.aborted) {
      const owner = newId();
      const backfill = await backfillStore.lease(owner, currentDate(), inFuture(leaseMs));
      if (backfill === undefined) return;
      const running = this.#run({ backfill, owner, ranges: backfill.ranges }).finally(() => {
        this.#running.delete(running);
        this.wake();
      });
      this.#running.add(running);
    }
  }

  /** Never rejects. */
  async #run(running: Running): Promise<void> {
    const { id, topic } = running.backfill;
    const log = this.#log.child({ backfill: id, topic: topic.externalId });
    try {
      log.info("backfill begins or continues");
      await this.#forward(running);
      await this.#end(id, { state: "done", reason: null });
      log.info("backfill done");
    } catch (error) {
      const reason = getErrorMessage(error);
      const isStopping = this.#stopping.signal.aborted;
      // Any instance may continue then.
      await this.#keep(running, isStopping ? 0 : retryMs).catch(() => undefined);
      if (error instanceof BackfillLostError) log.info("backfill was cancelled or taken over");
      else if (error instanceof UnavailableError || error instanceof FencedError) {
        if (!isStopping) log.warn({ reason }, "backfill interrupted, retrying");
      } else {
        const err = error instanceof BackfillFailedError ? undefined : error;
        log.warn({ err, reason }, "backfill failed");
        await this.#end(id, { state: "failed", reason }).catch(() => undefined);
      }
    }
    await this.#forgetGroup(id).catch(() => undefined);
  }

  async #forward(running: Running): Promise<void> {
    const { broker, config, services, metrics } = this.#context;
    const { router, naming, egressTopics } = this.#options;
    let keptAt = -Infinity;
    const run = new BackfillRun(running.backfill, {
      ...{ router, naming, egressTopics, choosePartition, kafka: broker },
      maxEventBytes: config.kafka.maxEventBytes,
      getProofKey: services.getReplayKey,
      keep: async (ranges, isNeeded = false) => {
        running.ranges = ranges;
        if (this.#stopping.signal.aborted) throw new UnavailableError("the service is stopping");
        if (!isNeeded && elapsed() - keptAt < keepIntervalMs) return;
        keptAt = elapsed();
        await this.#requireUnchanged(running.backfill);
        if (!(await this.#keep(running, leaseMs))) throw new BackfillLostError();
      },
      onSent: metrics.recordBackfill,
      abort: this.#stopping.signal,
    });
    await run.run();
  }

  /** Its Kafka topic may belong to another topic by now, and its events to nobody. */
  async #requireUnchanged({ topic, egressTopic }: Backfill): Promise<void> {
    const found = await this.#context.services.topicReader.find(topic.externalId);
    const isSame =
      found?.retired === undefined && found?.topic.id === topic.id && found.topic.version === topic.version;
    if (!isSame || this.#options.naming.getName(topic) !== egressTopic)
      throw new BackfillFailedError("the topic was changed or disabled, or KAFKA_EGRESS_TOPIC was changed");
  }

  /** Stores the progress, and keeps others off for a time. Returns false if the lease is lost. */
  #keep({ backfill: { id }, owner, ranges }: Running, leaseForMs: number): Promise<boolean> {
    return this.#context.services.backfillStore.keep(id, owner, inFuture(leaseForMs), ranges);
  }

  async #end(id: string, end: Omit<BackfillEnd, "endedOn">): Promise<void> {
    await this.#context.services.backfillStore.end(id, { ...end, endedOn: currentDate() });
  }

  /** The positions of what has ended are of no use. */
  async #forgetGroup(id: string): Promise<void> {
    const { broker, services } = this.#context;
    const found = await services.backfillStore.find(id);
    if (found !== undefined && found.state !== "running")
      await broker.deleteGroup(toBackfillGroup(this.#options.router.groupId, found));
  }
}

const inFuture = (delayMs: number): Date => new Date(currentDate().getTime() + delayMs);
