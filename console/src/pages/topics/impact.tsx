import type { ImpactExample, ImpactRead, ImpactResult, ImpactTopic } from "../../../../schemas/impact.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { formatCount } from "../../components/format.ts";
import { formatTime, Time } from "../../components/time-ago.tsx";
import { useRight } from "../../session.ts";
import { previewedEvents, usePreview, type PreviewedTopic } from "./preview.ts";

interface PreviewPanelProps {
  readonly topic: PreviewedTopic;
  /** Whether the definition can be tested. */
  readonly canStart: boolean;
}

/** A button that starts a preview, its progress, and its result; for those who may read events. */
export const PreviewPanel = (props: PreviewPanelProps) =>
  useRight("events.read") ? <AllowedPreview {...props} /> : null;

function AllowedPreview({ topic, canStart }: PreviewPanelProps) {
  const { state, start, stop } = usePreview();
  const isStale =
    state.kind === "done" &&
    (state.topic.headerQuery !== topic.headerQuery || state.topic.contentQuery !== topic.contentQuery);
  return (
    <>
      {state.kind === "running" ? (
        <Progress {...state} onStop={stop} />
      ) : (
        <p>
          <button
            type="button"
            class="secondary"
            disabled={!canStart}
            onClick={() => {
              start(topic);
            }}
          >
            Test with the last {formatCount(previewedEvents)} events
          </button>
        </p>
      )}
      {state.kind === "failed" && <ErrorMessage error={state.error} />}
      <div role="status">
        {isStale && <p class="warning">You have changed the filters since this test.</p>}
        {state.kind === "done" && <p>{summarize(state.result)}</p>}
      </div>
      {state.kind === "done" && (
        <div class={isStale ? "stale" : ""}>
          <Result result={state.result} />
        </div>
      )}
    </>
  );
}

interface ProgressProps {
  readonly done: number;
  readonly total: number;
  readonly onStop: () => void;
}

const Progress = ({ done, total, onStop }: ProgressProps) => (
  <>
    <label>
      {done === 0 ? "Starting …" : `${formatCount(done)} of ${formatCount(total)} records read`}
      <progress max={Math.max(1, total)} value={done} />
    </label>
    <button type="button" class="secondary outline" onClick={onStop}>
      Stop
    </button>
  </>
);

function summarize({ complete, read, topics: [topic] }: ImpactResult): string {
  if (topic === undefined) return "The filters do not change.";
  const { change, newly, noLonger, before, after, perDay } = topic;
  const comparison =
    change === "created"
      ? ""
      : newly + noLonger === 0
        ? ", as before"
        : `, instead of ${formatCount(before)}`;
  const sentences = [
    `${formatCount(after)} of ${formatCount(read.events)} events match${comparison}.`,
    describePerDay(perDay),
    complete ? "" : "The time was over before everything was read.",
  ];
  return sentences.filter((one) => one !== "").join(" ");
}

function Result({ result: { read, topics } }: { readonly result: ImpactResult }) {
  const [topic] = topics;
  if (topic === undefined) return null;
  return (
    <>
      <Split topic={topic} />
      <Examples title="Match newly" sign="+" examples={topic.examples.newly} />
      <Examples title="No longer match" sign="−" examples={topic.examples.noLonger} />
      <p class="quiet">{describeRead(read)}</p>
      {read.rejectedExamples.length > 0 && (
        <details>
          <summary>Records that are not valid events, for example</summary>
          <ul>
            {read.rejectedExamples.map(({ partition, offset, code }) => (
              <li key={`${partition}:${offset}`}>
                partition {partition}, offset {offset}: <code>{code}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

const parts = [
  { name: "noLonger", label: "No longer", style: "no-longer" },
  { name: "still", label: "Still", style: "still" },
  { name: "newly", label: "Newly", style: "newly" },
] as const;
const gap = 0.6;

/** A bar of the events before and after the change. The numbers below it say the same. */
function Split({ topic }: { readonly topic: ImpactTopic }) {
  const present = parts.filter(({ name }) => topic[name] > 0);
  const all = topic.noLonger + topic.still + topic.newly;
  const width = 100 - gap * Math.max(0, present.length - 1);
  let x = 0;
  return (
    <div class="split">
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        {all === 0 && <rect width="100" height="10" />}
        {present.map(({ name, style }) => {
          const length = (topic[name] / all) * width;
          const bar = <rect key={name} class={style} x={x} width={length} height="10" />;
          x += length + gap;
          return bar;
        })}
      </svg>
      <dl>
        {parts.map(({ name, label, style }) => (
          <div key={name} class={style}>
            <dt>{label}</dt>
            <dd>{formatCount(topic[name])}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function describePerDay(perDay: ImpactTopic["perDay"]): string {
  if (perDay === null || perDay.copies === 0) return "";
  const { copies, bytes } = perDay;
  const size = formatBytes(Math.abs(bytes));
  return `About ${formatCount(Math.abs(copies))} ${copies > 0 ? "more" : "fewer"} copies a day, ${size}.`;
}

const formatBytes = (bytes: number): string =>
  bytes < 1_000_000
    ? `${formatCount(Math.ceil(bytes / 1_000))}\u00a0kB`
    : `${formatCount(Math.round(bytes / 1_000_000))}\u00a0MB`;

interface ExamplesProps {
  readonly title: string;
  readonly sign: string;
  readonly examples: readonly ImpactExample[];
}

function Examples({ title, sign, examples }: ExamplesProps) {
  if (examples.length === 0) return null;
  return (
    <>
      <h3>{title}, for example</h3>
      <ul class="entries">
        {examples.map(({ event, time, decidedBy }) => (
          <li key={event}>
            <span aria-hidden="true">{sign}</span> <code>{event}</code>{" "}
            <span class="quiet">{time !== null && <Time time={time} />}</span>
            <ul>
              {decidedBy.map((one) => (
                <li key={`${one.version} ${one.filter} ${one.condition}`}>
                  {describeFound(one.found)} {one.held ? "meets" : "does not meet"} the{" "}
                  {one.version === "before" ? "old" : "new"} <code>{one.condition}</code>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </>
  );
}

function describeFound(found: readonly string[] | null): string {
  if (found === null) return "It";
  return found.length === 0 ? "It has no value there, and" : `It has ${found.map(quote).join(", ")}, and`;
}

const quote = (text: string): string => JSON.stringify(text);

function describeRead({ kafkaTopic, firstTime, lastTime, records, rejected }: ImpactRead): string {
  const others = Object.values(rejected).reduce((sum, count) => sum + count, 0);
  const source = kafkaTopic === null ? "" : ` of ${kafkaTopic}`;
  const range =
    firstTime === null || lastTime === null
      ? ""
      : `, from ${formatTime(firstTime)} to ${formatTime(lastTime)}`;
  const rest = others === 0 ? "" : ` ${formatCount(others)} of them are not valid events.`;
  return `${formatCount(records)} records${source}${range}.${rest} The counts are exact for these records.`;
}
