/**
 * Analyzes the topics of a workload and planted ones in its own process: `node bench/analysis/run.ts WORKLOAD
 * TOPICS`. Prints one line of JSON. Throws if a planted topic is not found, or a wrong one is.
 */
import type { PickableTopic } from "../../src/topics/live/feed.ts";
import { findingKinds, type FindingKind } from "../../src/topics/finding.ts";
import { TopicAnalysis } from "../../src/topics/findings.ts";
import { readMemoryMb } from "../support/process-usage.ts";
import { createWorkload, workloads, type BenchTopic } from "../picker/workload.ts";

export interface AnalysisResult {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMb: number;
  readonly counts: Readonly<Partial<Record<FindingKind, number>>>;
}

/** Of each kind but "impossible". */
const planted = 100;
const plantedImpossible = 10;

const [name, countText] = process.argv.slice(2);
const workload = createWorkload(workloads.find((one) => one === name) ?? "all");
const count = Number(countText);

const toStored = ({ id, filters: { headerQuery = "", contentQuery = "" } }: BenchTopic): PickableTopic => ({
  id,
  externalId: id,
  name: id,
  namespace: "",
  headerQuery,
  contentQuery,
});

/** Returns a topic that has conditions, at the latest a few after the given number. */
function getConditional(number: number): PickableTopic {
  for (const topic of workload.topics(number, count)) if (topic.filters.contentQuery) return toStored(topic);
  throw new Error("no topic has conditions");
}

/** Topics with the filters of others in another spelling, topics within others, and contradictions. */
function* createPlanted(): Generator<PickableTopic> {
  for (let number = 0; number < planted; number += 1) {
    const base = getConditional(Math.floor((number * count) / (2 * planted)));
    const contentQuery = base.contentQuery
      .split("&")
      .map((condition) => `event.${condition}`)
      .toReversed()
      .join(" & ");
    yield { ...base, externalId: `same ${base.externalId}`, contentQuery };
    yield { ...base, externalId: `part ${base.externalId}`, contentQuery: `${contentQuery}&planted>1` };
  }
  for (let number = 0; number < plantedImpossible; number += 1)
    yield { ...getConditional(0), externalId: `never ${number}`, headerQuery: "eventType=a & eventType!=a" };
}

async function* streamTopics(): AsyncGenerator<PickableTopic> {
  for (const topic of workload.topics(0, count)) yield toStored(topic);
  yield* createPlanted();
  await Promise.resolve();
}

const analysis = new TopicAnalysis(streamTopics(), { kinds: findingKinds, onCompared: () => undefined });
const found = { same: 0, contained: 0 };
const counts: Partial<Record<FindingKind, number>> = {};
const startedAt = performance.now();
for await (const finding of analysis.run()) {
  counts[finding.kind] = (counts[finding.kind] ?? 0) + 1;
  if (finding.kind === "same")
    found.same += finding.externalIds.filter(
      (id) => id.startsWith("same ") && finding.externalIds.includes(id.slice("same ".length)),
    ).length;
  else if (finding.kind === "contained" && finding.externalId.startsWith("part "))
    found.contained += finding.in.includes(finding.externalId.slice("part ".length)) ? 1 : 0;
}
const seconds = (performance.now() - startedAt) / 1_000;
if (found.same !== planted || found.contained !== planted || counts.impossible !== plantedImpossible)
  throw new Error(`not all planted topics were found: ${JSON.stringify({ ...found, ...counts })}`);
const { user, system } = process.cpuUsage();
const result: AnalysisResult = {
  seconds,
  cpuSeconds: (user + system) / 1e6,
  peakMb: readMemoryMb(process.pid, "VmHWM"),
  counts,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
