import type { Overview, Sample } from "../../../../schemas/overview.ts";
import { Chart } from "../../components/chart.tsx";
import { Figure, Figures } from "../../components/figure.tsx";
import { formatNumber } from "../../components/format.ts";
import { LagFigures } from "../../components/lag-figures.tsx";
import { PartitionTable } from "../../components/partition-table.tsx";
import { calculateRate, calculateRates, getTimes } from "../../history.ts";
import type { RouterStatus } from "./router.ts";

interface ForwardingProps extends Pick<Overview, "history"> {
  readonly router: RouterStatus;
}

export function Forwarding({ router, history }: ForwardingProps) {
  const times = getTimes(history);
  return (
    <article aria-labelledby="forwarding">
      <h2 id="forwarding">Forwarding</h2>
      <Figures>
        <LagFigures partitions={router.partitions} />
        <Figure name="Events per second" value={formatNumber(calculateRate(history, countEvents))} />
      </Figures>
      <div class="charts">
        <Chart
          name="Lag in events"
          times={times}
          lines={[{ name: "Lag", values: history.map((one) => one.router?.lagRecords ?? null) }]}
        />
        <Chart
          name="Events per second"
          times={times}
          lines={[
            { name: "Events", values: calculateRates(history, countEvents) },
            { name: "Forwarded copies", values: calculateRates(history, countForwarded) },
          ]}
        />
      </div>
      <p>
        <small>The last hour, as seen by this instance. The rates are those of this instance.</small>
      </p>
      <PartitionTable {...router} />
    </article>
  );
}

const countEvents = ({ router }: Sample): number | null => router?.events ?? null;
const countForwarded = ({ router }: Sample): number | null => router?.forwarded ?? null;
