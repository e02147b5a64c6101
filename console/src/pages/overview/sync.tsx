import type { Overview, Sample } from "../../../../schemas/overview.ts";
import type { SyncStatus } from "../../../../schemas/sync-status.ts";
import { formatCount, formatNumber } from "../../components/format.ts";
import { Sparkline } from "../../components/sparkline.tsx";
import { Table } from "../../components/table.tsx";

/** One sample per ten seconds, for one hour. */
const historySamples = 360;
/** The rate is that of the last minute. */
const rateSamples = 6;

export function Sync({ sync, history }: Pick<Overview, "sync" | "history">) {
  const { partitions } = sync;
  const now = history.at(-1);
  const lag = sum(partitions.map(({ lagRecords }) => lagRecords));
  return (
    <article aria-labelledby="sync">
      <h2 id="sync">Sync</h2>
      <div class="figures">
        <Figure name="Lag, records" value={formatCount(lag)} />
        <Figure name="Lag, seconds" value={formatNumber(largest(partitions.map((one) => one.lagSeconds)))} />
        <Figure name="Records per second" value={formatNumber(calculateRate(history))} />
      </div>
      <Sparkline
        values={history.map(({ lagRecords }) => lagRecords)}
        capacity={historySamples}
        label={`Lag in records during the last hour; now ${formatCount(now?.lagRecords ?? null)}`}
      />
      <p>
        <small>Lag in records during the last hour, as seen by this instance.</small>
      </p>
      <Table
        label="Partitions"
        caption={
          <>
            Kafka topic <code>{sync.topic}</code>, consumer group <code>{sync.group}</code>
          </>
        }
        columns={["Partition", "Next offset", "Log end", "Lag", "Instance", "State"]}
      >
        {partitions.map((one) => (
          <tr key={one.partition}>
            <th scope="row">{one.partition}</th>
            <td>{formatCount(one.committedOffset)}</td>
            <td>{formatCount(one.logEnd)}</td>
            <td>{formatCount(one.lagRecords)}</td>
            <td>{one.owner ?? "none"}</td>
            <td>{formatState(one)}</td>
          </tr>
        ))}
      </Table>
    </article>
  );
}

const Figure = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div>
    <span class="value">{value}</span>
    <span class="name">{name}</span>
  </div>
);

function formatState(one: SyncStatus["partitions"][number]): string {
  const { openTransactionSeconds: seconds, lastStableOffset } = one;
  if (seconds === null || seconds === 0) return formatReading(one);
  return `${formatReading(one)}; blocked at offset ${formatCount(lastStableOffset)} by a transaction open for ${formatNumber(seconds)} s`;
}

function formatReading({ state, reason, cause, owner }: SyncStatus["partitions"][number]): string {
  if (state === "paused")
    return `paused${cause === "error" ? " by an unexpected error" : ""}: ${reason ?? "unknown reason"}`;
  if (state === "reading") return "reading";
  return owner === null ? "unassigned" : "read by another instance";
}

const sum = (values: readonly (number | null)[]): number | null =>
  values.length === 0 || values.includes(null)
    ? null
    : values.reduce<number>((all, one) => all + (one ?? 0), 0);

const largest = (values: readonly (number | null)[]): number | null =>
  values.length === 0 || values.includes(null) ? null : Math.max(...values.map((one) => one ?? 0));

/** The number of announcements that this instance has processed per second. */
function calculateRate(history: readonly Sample[]): number | null {
  const [from, to] = [history.at(-1 - rateSamples) ?? history[0], history.at(-1)];
  if (from === undefined || to === undefined || from === to) return null;
  const seconds = (Date.parse(to.at) - Date.parse(from.at)) / 1_000;
  return (to.applied + to.rejected - from.applied - from.rejected) / seconds;
}
