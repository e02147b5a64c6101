import { cached } from "@topicsync/lib/concurrency/cached";
import { getErrorMessage } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { waitAtMost } from "@topicsync/lib/concurrency/timeout";
import type { FilterTexts } from "@topicsync/filters";
import type { FilterWarning } from "../../schemas/topics/check.ts";
import type { EventSample, SampleAccess } from "./event-type.ts";
import { findFilterWarnings } from "./warnings.ts";

/** Reads the last events. Throws UnavailableError and ConfigurationError. */
export type ReadSample = () => Promise<EventSample>;

interface FindOptions extends SampleAccess {
  /** How long to wait for a sample if there is none. */
  readonly maxWaitMs?: number | undefined;
}

/** Knows what the last events look like. */
export interface EventTypeService {
  /**
   * What the events looked like at most five minutes ago; undefined if no events topic is configured. A
   * failure is remembered for ten seconds. Throws UnavailableError and ConfigurationError.
   */
  readonly getSample: () => Promise<EventSample | undefined>;
  /** Compares the filters of a topic with the sample. No warnings if there is none in time. */
  findWarnings(filters: FilterTexts, options: FindOptions): Promise<FilterWarning[]>;
}

const sampleCache = { ttlMs: 5 * 60_000, errorTtlMs: 10_000 };
const defaultMaxWaitMs = 5_000;

/** `read`: undefined if no events topic is configured. */
export function createEventTypeService(
  read: ReadSample | undefined,
  log: Pick<Logger, "warn">,
): EventTypeService {
  if (read === undefined)
    return { getSample: () => Promise.resolve(undefined), findWarnings: () => Promise.resolve([]) };
  let isFailing = false;
  const getSample = cached(async () => {
    try {
      const sample = await read();
      isFailing = false;
      return sample;
    } catch (error) {
      isFailing = true;
      log.warn({ reason: getErrorMessage(error) }, "events not sampled");
      throw error;
    }
  }, sampleCache);

  async function findSample(maxWaitMs: number): Promise<EventSample | undefined> {
    const reading = getSample();
    // While the events cannot be read, nobody waits for the next attempt.
    const waitMs = isFailing ? 0 : maxWaitMs;
    try {
      return (await waitAtMost(waitMs, reading)) ? await reading : undefined;
    } catch {
      return undefined;
    }
  }

  return {
    getSample,
    async findWarnings(filters, { showsValues, maxWaitMs = defaultMaxWaitMs }) {
      const sample = await findSample(maxWaitMs);
      return sample === undefined ? [] : findFilterWarnings(filters, sample, { showsValues });
    },
  };
}
