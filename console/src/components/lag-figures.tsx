import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { Figure } from "./figure.tsx";
import { formatCount, formatNumber } from "./format.ts";

/** How far a consumer group is behind its log: the sum of the records, and the oldest one's age. */
export const LagFigures = ({ partitions }: Pick<SyncStatus, "partitions">) => (
  <>
    <Figure name="Lag, records" value={formatCount(sum(partitions.map(({ lagRecords }) => lagRecords)))} />
    <Figure
      name="Lag, seconds"
      value={formatNumber(largest(partitions.map(({ lagSeconds }) => lagSeconds)))}
    />
  </>
);

const sum = (values: readonly (number | null)[]): number | null =>
  values.length === 0 || values.includes(null)
    ? null
    : values.reduce<number>((all, one) => all + (one ?? 0), 0);

const largest = (values: readonly (number | null)[]): number | null =>
  values.length === 0 || values.includes(null) ? null : Math.max(...values.map((one) => one ?? 0));
