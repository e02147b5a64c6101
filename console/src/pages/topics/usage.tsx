import type { TopicUsageView } from "../../../../schemas/topic-usage.ts";
import type { TopicDetail } from "../../../../schemas/topic-view.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { Figure, Figures } from "../../components/figure.tsx";
import { formatCount } from "../../components/format.ts";
import { TimeAgo } from "../../components/time-ago.tsx";
import { useQuery } from "../../query.ts";
import { getTopicPath, topicsPath } from "./source.ts";

/** How many events a topic had. */
export function Usage({ topic }: { readonly topic: TopicDetail }) {
  const { value, error, loading, refetch } = useQuery<TopicUsageView>(
    `${topicsPath}/${getTopicPath(topic)}/usage`,
  );
  return (
    <section aria-labelledby="usage">
      <h2 id="usage">Use</h2>
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {value === undefined && loading && <p aria-busy="true">Loading …</p>}
      {value !== undefined && <Counts usage={value} />}
    </section>
  );
}

function Counts({ usage: { events, lastEventOn, days, counted } }: { readonly usage: TopicUsageView }) {
  if (counted === null) return <p>No counts are stored yet: a router stores them within ten minutes.</p>;
  return (
    <>
      <Figures>
        <Figure name={`Events in ${days.length} days`} value={formatCount(events)} />
        <Figure name="Last event" value={lastEventOn === null ? "none" : <TimeAgo time={lastEventOn} />} />
      </Figures>
      <Days days={days} />
      <p class="quiet">
        Counted since <TimeAgo time={counted.since} />, up to ten minutes late.
      </p>
    </>
  );
}

const height = 50;
const step = 10;
const dayFormat = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
const formatDay = (day: string): string => dayFormat.format(new Date(day));

/** A bar for each day; a day without events has a line. */
function Days({ days }: Pick<TopicUsageView, "days">) {
  const largest = Math.max(...days.map(({ events }) => events));
  const first = days[0]?.day;
  const busiest = days.find(({ events }) => events === largest)?.day;
  if (first === undefined || busiest === undefined || largest === 0) return null;
  const most = `at most ${formatCount(largest)}, on ${formatDay(busiest)}`;
  return (
    <>
      <svg
        class="days"
        viewBox={`0 0 ${days.length * step} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Events per day since ${formatDay(first)}: ${most}; ${formatCount(days.at(-1)?.events ?? 0)} today.`}
      >
        {days.map(({ day, events }, at) => {
          const length = Math.max(1, (events / largest) * height);
          return (
            <rect
              key={day}
              class={events === 0 ? "none" : ""}
              x={at * step + 1}
              width={step - 2}
              y={height - length}
              height={length}
            >
              <title>
                {formatDay(day)}: {formatCount(events)}
              </title>
            </rect>
          );
        })}
      </svg>
      <p class="axis">
        <span>{formatDay(first)}</span>
        <span>{most}</span>
        <span>today</span>
      </p>
    </>
  );
}
