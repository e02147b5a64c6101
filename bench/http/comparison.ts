import { aimsReport, atLeast, atMost, withoutAim, type Ratio } from "../support/ratios.ts";
import { httpFloor, httpService, parseServer, type Registrar } from "./contestants.ts";
import type { Figures, Measurement } from "./measure.ts";
import { median, type Report } from "../support/report.ts";

/** What can be compared: the service's figure as a multiple of another's. */
interface Comparison {
  readonly what: string;
  readonly figure: keyof Figures;
  readonly beside: Registrar;
}

const rate = { what: "registrations/s ÷ floor", figure: "perSecond", beside: httpFloor } as const;
const rateBesideParse = {
  what: "registrations/s ÷ Parse Server",
  figure: "perSecond",
  beside: parseServer,
} as const;
const p99 = { what: "p99 ÷ floor", figure: "p99", beside: httpFloor } as const;
const processorTime = { what: "CPU each ÷ floor", figure: "processorTime", beside: httpFloor } as const;
const comparisons: readonly Comparison[] = [rate, rateBesideParse, p99, processorTime];

type Kind = Pick<Measurement, "store" | "connections" | "tokens">;

/** The service's figures as multiples of the floor's and of Parse Server's. */
export function compareRegistrars(measurements: readonly Measurement[]): Report {
  // Every kind that the service was measured in, once.
  const kinds = measurements.filter(({ registrar, round }) => registrar === httpService.name && round === 1);
  const ratios = kinds.flatMap((kind) =>
    comparisons.flatMap((comparison) => {
      const ratio = calculateRatio(comparison, kind, measurements);
      if (Number.isNaN(ratio)) return [];
      const what = `${comparison.what}: ${kind.store.kind}, ${kind.connections} at once, ${kind.tokens} tokens`;
      return [judged(comparison, kind, { what, ratio })];
    }),
  );
  return aimsReport("http", ratios, ["The median of the rounds' own ratios."]);
}

/** NaN where one of the two was not measured. */
function calculateRatio(
  { figure, beside }: Comparison,
  kind: Kind,
  measurements: readonly Measurement[],
): number {
  const rounds = ({ name }: Registrar): readonly number[] =>
    measurements
      .filter(
        ({ registrar, store, connections, tokens }) =>
          registrar === name &&
          store === kind.store &&
          connections === kind.connections &&
          tokens === kind.tokens,
      )
      .map(({ found }) => found[figure]);
  const others = rounds(beside);
  return median(rounds(httpService).map((value, round) => value / (others[round] ?? NaN)));
}

/** The aims are for one connection and for 64. */
function judged(
  comparison: Comparison,
  { store, connections }: Kind,
  one: { what: string; ratio: number },
): Ratio {
  if (store.kind === "memory" && connections === 64) {
    if (comparison === rate) return atLeast(2.5, one);
    if (comparison === rateBesideParse) return atLeast(50, one);
    if (comparison === p99) return atMost("1", 1, one);
  }
  if (store.kind === "memory" && connections === 1 && comparison === rate) return atLeast(0.85, one);
  if (store.kind === "embedded" && connections === 64 && comparison === rate) return atLeast(2, one);
  return withoutAim(one);
}
