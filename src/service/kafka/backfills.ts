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
import {
  toBackfillGroup,
  type Backfill,
  type BackfillEnd,
  type BackfillRange,
} from "../../routing/backfill.ts";
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

/** How far a backfill is. */
interface Progress {
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
  readonly #owner = newId();
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
      const backfill = await backfillStore.lease(this.#owner, currentDate(), inFuture(leaseMs));
      if (backfill === undefined) return;
      const running = this.#run(backfill).finally(() => {
        this.#running.delete(running);
        this.wake();
      });
      this.#running.add(running);
    }
  }

  /** Never rejects. */
  async #run(backfill: Backfill): Promise<void> {
    const log = this.#log.child({ backfill: backfill.id, topic: backfill.topic.externalId });
    const progress: Progress = { ranges: backfill.ranges };
    try {
      log.info("backfill begins or continues");
      await this.#forward(backfill, progress);
      await this.#end(backfill, { state: "done", reason: null });
      log.info("backfill done");
    } catch (error) {
      const reason = getErrorMessage(error);
      const isStopping = this.#stopping.signal.aborted;
      if (error instanceof BackfillLostError) log.info("backfill was cancelled or taken over");
      else if (error instanceof UnavailableError || error instanceof FencedError) {
        if (!isStopping) log.warn({ reason }, "backfill interrupted, retrying");
        await this.#release(backfill, progress, isStopping ? 0 : retryMs);
      } else {
        log.warn(
          { err: error instanceof BackfillFailedError ? undefined : error, reason },
          "backfill failed",
        );
        await this.#release(backfill, progress, retryMs);
        await this.#end(backfill, { state: "failed", reason }).catch(() => undefined);
      }
    }
    await this.#forgetGroup(backfill).catch(() => undefined);
  }

  async #forward(backfill: Backfill, progress: Progress): Promise<void> {
    const { broker, config, services, metrics } = this.#context;
    const { router, naming, egressTopics } = this.#options;
    const run = new BackfillRun(backfill, {
      ...{ router, naming, egressTopics, choosePartition, kafka: broker },
      maxEventBytes: config.kafka.maxEventBytes,
      getProofKey: services.getReplayKey,
      keep: this.#createKeep(backfill, progress),
      onSent: metrics.recordBackfill,
      abort: this.#stopping.signal,
    });
    await run.run();
  }

  /** Extends the lease and stores the progress; throws if the backfill is to end. */
  #createKeep(backfill: Backfill, progress: Progress) {
    const { backfillStore } = this.#context.services;
    let keptAt = -Infinity;
    return async (ranges: readonly BackfillRange[], isNeeded = false): Promise<void> => {
      progress.ranges = ranges;
      if (this.#stopping.signal.aborted) throw new UnavailableError("the service is stopping");
      if (!isNeeded && elapsed() - keptAt < keepIntervalMs) return;
      keptAt = elapsed();
      await this.#requireUnchanged(backfill);
      const isKept = await backfillStore.keep(backfill.id, this.#owner, inFuture(leaseMs), ranges);
      if (!isKept) throw new BackfillLostError();
    };
  }

  /** Its Kafka topic may belong to another topic by now, and its events to nobody. */
  async #requireUnchanged({ topic, egressTopic }: Backfill): Promise<void> {
    const found = await this.#context.services.topicReader.find(topic.externalId);
    const isSame =
      found?.retired === undefined &&
      found?.topic.id === topic.id &&
      found.topic.namespace === topic.namespace &&
      found.topic.headerQuery === topic.headerQuery &&
      found.topic.contentQuery === topic.contentQuery &&
      this.#options.naming.getName(topic) === egressTopic;
    if (!isSame)
      throw new BackfillFailedError("the topic was changed or disabled, or KAFKA_EGRESS_TOPIC was changed");
  }

  async #end({ id }: Backfill, end: Omit<BackfillEnd, "endedOn">): Promise<void> {
    await this.#context.services.backfillStore.end(id, { ...end, endedOn: currentDate() });
  }

  /** The positions of what has ended are of no use. */
  async #forgetGroup({ id }: Backfill): Promise<void> {
    const { broker, services } = this.#context;
    const found = await services.backfillStore.find(id);
    if (found !== undefined && found.state !== "running")
      await broker.deleteGroup(toBackfillGroup(this.#options.router.groupId, found));
  }

  /** Stores the progress, and lets any instance continue after a time. */
  async #release({ id }: Backfill, { ranges }: Progress, delayMs: number): Promise<void> {
    const { backfillStore } = this.#context.services;
    await backfillStore.keep(id, this.#owner, inFuture(delayMs), ranges).catch(() => undefined);
  }
}

const inFuture = (delayMs: number): Date => new Date(currentDate().getTime() + delayMs);
