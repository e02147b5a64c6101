import type { Random } from "../../support/random.ts";

export const faults = ["kill", "freeze", "store", "broker", "grow"] as const;
export type Fault = (typeof faults)[number];

/** Faults that are injected together once `at` records are applied. */
export interface PlannedFault {
  readonly at: number;
  readonly faults: readonly Fault[];
}

export type FaultCounts = Readonly<Record<Fault, number>>;

/**
 * Spreads the faults over the records; a quarter of them in pairs. A server cannot be killed twice at a time.
 */
export function planFaults(random: Random, counts: FaultCounts, records: number): PlannedFault[] {
  const list = random.shuffle(faults.flatMap((fault) => Array.from({ length: counts[fault] }, () => fault)));
  const groups: Fault[][] = [];
  for (const fault of list) {
    const last = groups.at(-1);
    const canPair = last?.length === 1 && (fault === "kill" || fault !== last[0]);
    if (canPair && random.chance(0.25)) last.push(fault);
    else groups.push([fault]);
  }
  const stretch = records / (groups.length + 1);
  return groups.map((group, index) => ({
    at: Math.floor(stretch * (index + 0.7 + random.between(0, 60) / 100)),
    faults: group,
  }));
}
