import type { Overview, Sample } from "../../../../schemas/overview.ts";
import type { SyncStatus } from "../../../../schemas/sync-status.ts";
import { counted, measured } from "../../components/format.ts";
import { Sparkline } from "../../components/sparkline.tsx";
import { Table } from "../../components/table.tsx";

/** Samples are ten seconds apart. */
const samplesOfAnHour = 360;
/** Over so many of them the rate is taken. */
const samplesOfRate = 6;

/** Where the sync stands and stood. */
export function Sync({ sync, history }: Pick<Overview, "sync" | "history">) {
  const { partitions } = sync;
  const now = history.at(-1);
  const lag = sum(partitions.map(({ lagRecords }) => lagRecords));
  return (
    <article aria-labelledby="sync">
      <h2 id="sync">Sync</h2>
      <div class="figures">
        <Figure name="Records behind" value={counted(lag)} />
        <Figure name="Seconds behind" value={measured(largest(partitions.map((one) => one.lagSeconds)))} />
        <Figure name="Records a second" value={measured(rateOf(history))} />
      </div>
      <Sparkline
        values={history.map(({ lagRecords }) => lagRecords)}
        most={samplesOfAnHour}
        label={`Records behind during the last hour; now ${counted(now?.lagRecords ?? null)}`}
      />
      <p>
        <small>Records behind, during the last hour, as this instance saw it.</small>
      </p>
      <Table
        label="Partitions"
        caption={
          <>
            The Kafka topic <code>{sync.topic}</code>, read by the group <code>{sync.group}</code>
          </>
        }
        columns={["Partition", "Applied up to", "End", "Behind", "Instance", "State"]}
      >
        {partitions.map((one) => (
          <tr key={one.partition}>
            <th scope="row">{one.partition}</th>
            <td>{counted(one.committedOffset)}</td>
            <td>{counted(one.logEnd)}</td>
            <td>{counted(one.lagRecords)}</td>
            <td>{one.owner ?? "nobody"}</td>
            <td>{stateOf(one)}</td>
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

function stateOf(one: SyncStatus["partitions"][number]): string {
  const { openTransactionSeconds: seconds, lastStableOffset } = one;
  if (seconds === null || seconds === 0) return readingOf(one);
  return `${readingOf(one)}; a transaction that is open for ${measured(seconds)} s holds up what lies from ${counted(lastStableOffset)} on`;
}

function readingOf({ state, reason, cause, owner }: SyncStatus["partitions"][number]): string {
  if (state === "paused")
    return `paused${cause === "error" ? " by an unexpected error" : ""}: ${reason ?? "for a reason unknown"}`;
  if (state === "reading") return "reads";
  return owner === null ? "waits for an instance" : "reads elsewhere";
}

const sum = (values: readonly (number | null)[]): number | null =>
  values.length === 0 || values.includes(null)
    ? null
    : values.reduce<number>((all, one) => all + (one ?? 0), 0);

const largest = (values: readonly (number | null)[]): number | null =>
  values.length === 0 || values.includes(null) ? null : Math.max(...values.map((one) => one ?? 0));

/** Announcements that the instance worked off a second, lately. */
function rateOf(history: readonly Sample[]): number | null {
  const [from, to] = [history.at(-1 - samplesOfRate) ?? history[0], history.at(-1)];
  if (from === undefined || to === undefined || from === to) return null;
  const seconds = (Date.parse(to.at) - Date.parse(from.at)) / 1_000;
  return (to.applied + to.refused - from.applied - from.refused) / seconds;
}
