import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { formatCount, formatNumber } from "./format.ts";
import { Table } from "./table.tsx";

type PartitionTableProps = Pick<SyncStatus, "group" | "topic" | "partitions">;
type Partition = SyncStatus["partitions"][number];

/** The partitions of a Kafka topic that a consumer group reads. */
export function PartitionTable({ group, topic, partitions }: PartitionTableProps) {
  if (partitions.length === 0)
    return (
      <p>
        The Kafka topic <code>{topic}</code> has no partitions that can be seen. Create it, or allow topicsync
        to read it.
      </p>
    );
  return (
    <Table
      label="Partitions"
      caption={
        <>
          Kafka topic <code>{topic}</code>, consumer group <code>{group}</code>
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
  );
}

function formatState(one: Partition): string {
  const { openTransactionSeconds: seconds, lastStableOffset } = one;
  if (seconds === null || seconds === 0) return formatReading(one);
  return `${formatReading(one)}; blocked at offset ${formatCount(lastStableOffset)} by a transaction open for ${formatNumber(seconds)} s`;
}

function formatReading({ state, reason, cause, owner }: Partition): string {
  if (state === "paused")
    return `paused${cause === "error" ? " by an unexpected error" : ""}: ${reason ?? "unknown reason"}`;
  if (state === "reading") return "reading";
  return owner === null ? "unassigned" : "read by another instance";
}
