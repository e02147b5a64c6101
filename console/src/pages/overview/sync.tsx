import type { Overview, Sample } from "../../../../schemas/overview.ts";
import { Chart } from "../../components/chart.tsx";
import { Figure, Figures } from "../../components/figure.tsx";
import { formatNumber } from "../../components/format.ts";
import { LagFigures } from "../../components/lag-figures.tsx";
import { PartitionTable } from "../../components/partition-table.tsx";
import { calculateRate, calculateRates, getTimes } from "../../history.ts";

export function Sync({ sync, history }: Pick<Overview, "sync" | "history">) {
  const times = getTimes(history);
  return (
    <article aria-labelledby="sync">
      <h2 id="sync">Sync</h2>
      <Figures>
        <LagFigures partitions={sync.partitions} />
        <Figure name="Records per second" value={formatNumber(calculateRate(history, countAnnouncements))} />
      </Figures>
      <div class="charts">
        <Chart
          name="Lag in records"
          times={times}
          lines={[{ name: "Lag", values: history.map(({ lagRecords }) => lagRecords) }]}
        />
        <Chart
          name="Records per second"
          times={times}
          lines={[{ name: "Records", values: calculateRates(history, countAnnouncements) }]}
        />
      </div>
      <p>
        <small>The last hour, as seen by this instance. The rate is that of this instance.</small>
      </p>
      <PartitionTable {...sync} />
    </article>
  );
}

const countAnnouncements = ({ applied, rejected }: Sample): number => applied + rejected;
