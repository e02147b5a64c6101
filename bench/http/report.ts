import { isInvalid, type Measurement } from "./measure.ts";
import { median, type Report } from "../support/report.ts";

/** What every registrar did, each row the median of the rounds. */
export function reportRegistrars(
  measurements: readonly Measurement[],
  { generator, seconds, rounds, pool }: { generator: string; seconds: number; rounds: number; pool: number },
): Report {
  return {
    title: "http",
    head: ["store", "connections", "tokens", "registrar", "a second", "p50, ms", "p99, ms", "CPU each, µs"],
    rows: groups(measurements).map((rounds) => {
      const [{ store, connections, tokens, registrar }] = rounds;
      const of = (name: keyof Measurement["found"]): number => median(rounds.map(({ found }) => found[name]));
      return [
        ...[store.description, connections, tokens, registrar, of("perSecond").toFixed(0)],
        ...[of("p50").toFixed(2), of("p99").toFixed(2), of("processorTime").toFixed(0)],
      ];
    }),
    notes: [
      `Load by ${generator} for ${seconds} s after a warm-up; median of ${rounds} rounds. Repeated tokens: ${pool}. CPU: the server's own process, user and system.`,
      failures(measurements),
    ],
    data: measurements,
  };
}

function failures(measurements: readonly Measurement[]): string {
  const bad = measurements.filter(({ found }) => isInvalid(found));
  if (bad.length === 0)
    return "Every request was answered with success, and every new token is in the store.";
  return [
    "NOT VALID, since requests failed:",
    ...bad.map(
      ({ store, registrar, connections, tokens, round, found }) =>
        `${store.description}, ${registrar}, ${connections} connections, ${tokens} tokens, round ${round}: ` +
        `${found.accepted} accepted, ${found.refused} refused, ${found.broken} without an answer, ${found.missing} accepted but not stored`,
    ),
  ].join("\n");
}

type Rounds = readonly [Measurement, ...Measurement[]];

/** The rounds of the same measurement, in the order of the first. */
function groups(measurements: readonly Measurement[]): Rounds[] {
  const groups = new Map<string, [Measurement, ...Measurement[]]>();
  for (const one of measurements) {
    const key = JSON.stringify([one.store.kind, one.connections, one.tokens, one.registrar]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return [...groups.values()];
}
