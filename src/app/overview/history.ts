import type { Sample } from "../../../schemas/overview.ts";
import type { SyncStatus } from "../../../schemas/sync-status.ts";

/** What the sync was like during the last hour, as this process saw it. */
export interface History {
  /** The oldest first. */
  samples(): readonly Sample[];
  stop(): void;
}

const everyMs = 10_000;
const maxSamples = 360;

/** Begins to look where the sync stands, every ten seconds. */
export function createHistory(status: () => Promise<SyncStatus>): History {
  const samples: Sample[] = [];

  async function look(): Promise<void> {
    samples.push(toSample(await status()));
    if (samples.length > maxSamples) samples.shift();
  }

  void look();
  const timer = setInterval(() => void look(), everyMs).unref();
  return {
    samples: () => samples,
    stop() {
      clearInterval(timer);
    },
  };
}

/** A sum of which a part is not known is not known. */
export function toSample({ partitions, counts }: SyncStatus): Sample {
  const records = known(partitions.map(({ lagRecords }) => lagRecords));
  const seconds = known(partitions.map(({ lagSeconds }) => lagSeconds));
  return {
    at: new Date().toISOString(),
    lagRecords: records?.reduce((sum, one) => sum + one, 0) ?? null,
    lagSeconds: seconds === undefined ? null : Math.max(0, ...seconds),
    applied:
      counts === null
        ? 0
        : counts.created + counts.updated + counts.adopted + counts.unchanged + counts.retired,
    refused: counts === null ? 0 : Object.values(counts.refused).reduce((sum, one) => sum + one, 0),
  };
}

/** All of them; undefined where there is none, or one is not known. */
function known(values: readonly (number | null)[]): readonly number[] | undefined {
  const numbers = values.filter((value) => value !== null);
  return numbers.length === 0 || numbers.length < values.length ? undefined : numbers;
}
