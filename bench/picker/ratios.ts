import { aimsReport, atLeast, atMost, type Ratio } from "../support/ratios.ts";
import type { Found } from "./plan.ts";
import type { Report } from "../support/report.ts";

/**
 * The picker's figures as shares of Event Ruler's, and its rate with the most topics as a share of that with
 * the fewest.
 */
export function compareWithAims(found: readonly Found[]): Report {
  const ratios = [...found.flatMap((one) => besideRuler(one, found)), ...fall(found)];
  return aimsReport("picker", ratios, [
    "Rates are the best of the rounds. The rate may fall by less than half where the number of matches stays the same.",
  ]);
}

function besideRuler(ruler: Found, found: readonly Found[]): Ratio[] {
  const picker = found.find(
    ({ way, workload, topics }) => way === "picker" && workload === ruler.workload && topics === ruler.topics,
  );
  if (ruler.way !== "ruler" || picker === undefined) return [];
  const where = `${ruler.workload}, ${ruler.topics} topics`;
  return [
    atLeast(2, { what: `events/s beside Event Ruler: ${where}`, ratio: best(picker) / best(ruler) }),
    atMost("1/5", 1 / 5, { what: `memory: ${where}`, ratio: picker.bytes / ruler.bytes }),
    atMost("1/3", 1 / 3, {
      what: `time to build: ${where}`,
      ratio: picker.buildSeconds / ruler.buildSeconds,
    }),
  ];
}

function fall(found: readonly Found[]): Ratio[] {
  const sizes = found
    .filter(({ way, workload }) => way === "picker" && workload === "unique")
    .sort((a, b) => a.topics - b.topics);
  const [fewest, most] = [sizes[0], sizes.at(-1)];
  if (fewest === undefined || most === undefined || fewest === most) return [];
  const what = `events/s with ${most.topics} topics beside ${fewest.topics}: unique`;
  return [atLeast(0.5, { what, ratio: best(most) / best(fewest) })];
}

const best = ({ rates }: Found): number => Math.max(...rates);
