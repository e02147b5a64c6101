import {
  atLeast,
  atMost,
  median,
  quantile,
  reportTargets,
  type Ratio,
  type Report,
} from "../support/report.ts";
import { contestantNames, furtherTopics, getPlan, type Found } from "./plan.ts";
import { hasPatterns, type WorkloadName } from "./workload.ts";

/** Reports the figures of every contestant. */
export function reportFigures(found: readonly Found[], rulerName: string): Report {
  const { events, rounds, passes } = getPlan("picker");
  return {
    title: "picker",
    head: [
      "workload",
      "topics",
      "by",
      "events/s, best",
      "median",
      "build, s",
      "memory, MB",
      "bytes per topic",
      "matches per event",
      "adding a topic, µs: p50",
      "p99",
      "max",
    ],
    rows: found.map(({ workload, topics, way, rates, matches, setMicroseconds, ...one }) => [
      workload,
      topics,
      contestantNames[way],
      Math.round(Math.max(...rates)),
      Math.round(median(rates)),
      one.buildSeconds.toFixed(2),
      (one.bytes / 1e6).toFixed(1),
      Math.round(one.bytes / topics),
      (matches.reduce((sum, count) => sum + count, 0) / matches.length).toFixed(3),
      quantile(setMicroseconds, 0.5).toFixed(1),
      quantile(setMicroseconds, 0.99).toFixed(1),
      Math.max(...setMicroseconds).toFixed(1),
    ]),
    notes: [
      `${rulerName}. Events per second, including JSON.parse, after a warm-up: ${rounds} rounds of ${passes * events} events (naive: of ${getPlan("naive").events}).`,
      `Build: parsing and adding all filters or rules. Memory: in use after garbage collection (1 MB = 10^6 bytes). Adding a topic: ${furtherTopics} more, one by one, after the events.`,
      "Workloads: all = with 5 % ranges, 5 % negations, 1 % empty filters; equalities = without those; unique = equalities, and every topic has its own customer; patterns = a sixth each with a prefix, a suffix, a text in any case, a wildcard, exists and a range; lots = the same on the records of Event Ruler's own benchmarks.",
      "Every contestant found the same number of topics for each event.",
    ],
    data: found.map(({ matches, ...rest }) => ({
      ...rest,
      matches: matches.reduce((sum, count) => sum + count, 0),
      events: matches.length,
    })),
  };
}

/**
 * Compares the picker with Event Ruler, and its rate with the most topics with its rate with the fewest.
 */
export function compareWithTargets(found: readonly Found[]): Report {
  const ratios = [
    ...found.flatMap((one) => compareWithRuler(one, found)),
    ...compareSizes(found, "unique"),
    ...compareSizes(found, "patterns"),
    ...compareSizes(found, "lots"),
  ];
  return reportTargets("picker", ratios, ["Rates are the best of the rounds."]);
}

interface Targets {
  readonly rate: number;
  readonly memory: readonly [name: string, most: number];
  readonly build: readonly [name: string, most: number];
}

const targets: Targets = { rate: 2, memory: ["1/5", 1 / 5], build: ["1/3", 1 / 3] };
const patternTargets: Targets = { rate: 3, memory: ["1", 1], build: ["1/10", 1 / 10] };

function compareWithRuler(ruler: Found, found: readonly Found[]): Ratio[] {
  const picker = found.find(
    ({ way, workload, topics }) => way === "picker" && workload === ruler.workload && topics === ruler.topics,
  );
  if (ruler.way !== "ruler" || picker === undefined) return [];
  const where = `${ruler.workload}, ${ruler.topics} topics`;
  const { rate, memory, build } = hasPatterns(ruler.workload) ? patternTargets : targets;
  return [
    atLeast(rate, {
      what: `events/s ÷ Event Ruler: ${where}`,
      ratio: getBestRate(picker) / getBestRate(ruler),
    }),
    atMost(...memory, { what: `memory ÷ Event Ruler: ${where}`, ratio: picker.bytes / ruler.bytes }),
    atMost(...build, {
      what: `build time ÷ Event Ruler: ${where}`,
      ratio: picker.buildSeconds / ruler.buildSeconds,
    }),
  ];
}

function compareSizes(found: readonly Found[], compared: WorkloadName): Ratio[] {
  const sizes = found
    .filter(({ way, workload }) => way === "picker" && workload === compared)
    .sort((a, b) => a.topics - b.topics);
  const [fewest, most] = [sizes[0], sizes.at(-1)];
  if (fewest === undefined || most === undefined || fewest === most) return [];
  const what = `events/s, ${most.topics} topics ÷ ${fewest.topics}: ${compared}`;
  return [atLeast(0.5, { what, ratio: getBestRate(most) / getBestRate(fewest) })];
}

const getBestRate = ({ rates }: Found): number => Math.max(...rates);
