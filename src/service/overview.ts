import { LRUCache } from "lru-cache";

import { cached } from "@topicsync/lib/concurrency/cached";
import { getErrorMessage } from "@topicsync/lib/errors";
import type { Lifecycle } from "@topicsync/lib/lifecycle";
import { withTimeout } from "@topicsync/lib/concurrency/timeout";
import type { DeadLetterItem } from "../../schemas/dead-letters/dead-letter.ts";
import type { InstallationCount, Overview, Sample } from "../../schemas/overview.ts";
import type { SyncStatus } from "../../schemas/sync-status.ts";
import type { DeadLetterService } from "../dead-letters/service.ts";
import type { Namespaces } from "../users/rights.ts";
import { version } from "../config/version.ts";

const maxDeadLetters = 10;
/** What was read before an idle night is not shown as if it were new. */
const maxStaleMs = 5 * 60_000;
/** The rest of the overview is shown then; the next one has what has been read by then. */
const maxWaitMs = 2_200;
/** How many different sets of namespaces of callers are remembered. */
const maxNamespaceSets = 1_000;

interface OverviewOptions {
  readonly readiness: () => Promise<Overview["checks"]>;
  readonly getSyncStatus: () => Promise<SyncStatus>;
  readonly deadLetters: Pick<DeadLetterService, "list">;
  readonly countInstallations: () => Promise<readonly InstallationCount[]>;
  readonly lifecycle: Lifecycle;
}

/**
 * Creates the function that returns the overview, with the dead letters of some namespaces. It is at most a
 * second old, but dead letters and numbers of tokens may be a few minutes old, while they are read again.
 * Unavailable parts are null, with the reason in `problems`.
 */
export function createOverview(options: OverviewOptions): (namespaces: Namespaces) => Promise<Overview> {
  const { readiness, getSyncStatus, lifecycle } = options;
  // Reads every installation, so it runs at most 5 % of the time, and nobody waits for it.
  const limits = { ttlMs: 30_000, restFactor: 20, maxWaitMs: 200 };
  const countInstallations = readInBackground(options.countInstallations, limits);
  const history = startHistory(getSyncStatus, lifecycle);

  async function readShared() {
    const [checks, sync, totals] = await Promise.all([readiness(), getSyncStatus(), countInstallations()]);
    return { at: new Date().toISOString(), checks, sync, totals, history: [...history] };
  }
  const getShared = cached(readShared, { ttlMs: 1_000 });
  const lists = new LRUCache<string, () => Promise<LastKnown<DeadLetterItem[]>>, Namespaces>({
    max: maxNamespaceSets,
    memoMethod(_key, _last, { context: namespaces }) {
      const list = async () =>
        (await options.deadLetters.list({ filter: { namespaces }, limit: maxDeadLetters })).deadLetters;
      return readInBackground(list, { ttlMs: 5_000, restFactor: 1, maxWaitMs });
    },
  });

  return async (namespaces) => {
    const [{ at, checks, sync, totals, history: samples }, latest] = await Promise.all([
      getShared(),
      namespaces.length === 0
        ? { value: [], problem: undefined }
        : lists.memo(JSON.stringify(namespaces), { context: namespaces })(),
    ]);
    const problems = { "dead letters": latest.problem, installations: totals.problem };
    return {
      ...{ at, version, checks, sync, history: samples },
      ready: Object.values(checks).every(({ ok }) => ok),
      deadLetters: latest.value === undefined ? null : [...latest.value],
      installations: totals.value === undefined ? null : [...totals.value],
      problems: Object.entries(problems).flatMap(([what, problem]) =>
        problem === undefined ? [] : [`${what}: ${getErrorMessage(problem)}`],
      ),
    };
  };
}

/** The last known value, and the error of the last fetch if it failed. */
interface LastKnown<T> {
  readonly value: T | undefined;
  readonly problem: unknown;
}

/** Reads in the background: a caller waits briefly, or gets a value that is a few minutes old. */
function readInBackground<T>(
  fetch: () => Promise<T>,
  {
    maxWaitMs,
    ...limits
  }: { readonly maxWaitMs: number; readonly ttlMs: number; readonly restFactor: number },
): () => Promise<LastKnown<T>> {
  let value: T | undefined;
  async function read(): Promise<LastKnown<T>> {
    try {
      value = await fetch();
      return { value, problem: undefined };
    } catch (problem) {
      return { value, problem };
    }
  }
  const getLast = cached(read, { ...limits, maxStaleMs });
  return () => withTimeout(maxWaitMs, getLast()).catch((problem: unknown) => ({ value: undefined, problem }));
}

const sampleIntervalMs = 10_000;
/** An hour. */
const maxSamples = 360;

/** Samples the status every ten seconds; returns the samples of the last hour, oldest first. */
function startHistory(getSyncStatus: () => Promise<SyncStatus>, lifecycle: Lifecycle): readonly Sample[] {
  const samples: Sample[] = [];

  async function addSample(): Promise<void> {
    samples.push(toSample(await getSyncStatus()));
    if (samples.length > maxSamples) samples.shift();
  }

  void addSample();
  const timer = setInterval(() => void addSample(), sampleIntervalMs).unref();
  lifecycle.onStop("history", () => {
    clearInterval(timer);
  });
  return samples;
}

function toSample({ partitions, counts, router }: SyncStatus): Sample {
  return {
    at: new Date().toISOString(),
    ...toLag(partitions),
    applied:
      counts === null
        ? 0
        : counts.created + counts.updated + counts.adopted + counts.unchanged + counts.retired,
    rejected: counts === null ? 0 : Object.values(counts.rejected).reduce((sum, one) => sum + one, 0),
    router: router && {
      ...toLag(router.partitions),
      events: router.counts === null ? 0 : router.counts.matched + router.counts.unmatched,
      forwarded: router.counts?.forwarded ?? 0,
    },
  };
}

/** The sum of the records and the largest number of seconds; null if one is unknown. */
function toLag(partitions: SyncStatus["partitions"]): Pick<Sample, "lagRecords" | "lagSeconds"> {
  const records = allKnown(partitions.map(({ lagRecords }) => lagRecords));
  const seconds = allKnown(partitions.map(({ lagSeconds }) => lagSeconds));
  return {
    lagRecords: records?.reduce((sum, one) => sum + one, 0) ?? null,
    lagSeconds: seconds === undefined ? null : Math.max(0, ...seconds),
  };
}

/** The values; undefined when there are none or one is null. */
function allKnown(values: readonly (number | null)[]): readonly number[] | undefined {
  const numbers = values.filter((value) => value !== null);
  return numbers.length === 0 || numbers.length < values.length ? undefined : numbers;
}
