import type { Event } from "../../schemas/pick.ts";
import type { Logger } from "../lib/logger.ts";
import { repeat } from "../lib/platform.ts";
import { waitAtMost } from "../lib/timeout.ts";
import type { EventLearner } from "./learner.ts";
import type { EventTypeService } from "./stores.ts";

/** Learns from events and stores what was learned. */
export interface EventRecorder {
  /** Never throws: what was learned is worth less than the event. */
  readonly learn: (event: Event) => void;
  /** Stores what was learned since the last time. */
  stop(): Promise<void>;
}

interface RecorderOptions {
  readonly learner: EventLearner;
  readonly eventTypes: Pick<EventTypeService, "record">;
  readonly log: Logger;
  readonly intervalMs?: number;
}

const defaultIntervalMs = 60_000;
const stopTimeoutMs = 3_000;

/** Starts to store what a learner learns. What cannot be stored is lost. */
export function startEventRecorder({
  learner,
  eventTypes,
  log,
  intervalMs = defaultIntervalMs,
}: RecorderOptions): EventRecorder {
  let storing: Promise<void> | undefined;
  let isBroken = false;

  async function store(): Promise<void> {
    try {
      for (const changes of learner.take()) await eventTypes.record(changes);
    } catch (error) {
      log.warn({ err: error }, "event types not stored");
    }
  }

  const cancel = repeat(intervalMs, () => {
    storing ??= store().finally(() => {
      storing = undefined;
    });
  });

  return {
    learn(event) {
      if (isBroken) return;
      try {
        learner.learn(event);
      } catch (error) {
        isBroken = true;
        log.warn({ err: error }, "event learning stopped");
      }
    },
    async stop() {
      cancel();
      await waitAtMost(stopTimeoutMs, (storing ?? Promise.resolve()).then(store));
    },
  };
}
