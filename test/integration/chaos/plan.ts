import type { Random } from "./random.ts";

/** What is done to the service and to what it runs on. */
export const faults = ["kill", "freeze", "store", "broker"] as const;
export type Fault = (typeof faults)[number];

/** Faults that happen together once so many announcements are applied. */
export interface Blow {
  readonly at: number;
  readonly faults: readonly Fault[];
}

/** How often each fault happens. */
export type FaultCounts = Readonly<Record<Fault, number>>;

/** Spreads the faults over the announcements; now and then two come together. */
export function planBlows(random: Random, counts: FaultCounts, announcements: number): Blow[] {
  const list = random.shuffled(faults.flatMap((fault) => Array.from({ length: counts[fault] }, () => fault)));
  const groups: Fault[][] = [];
  for (const fault of list) {
    const last = groups.at(-1);
    if (last?.length === 1 && random.chance(0.25)) last.push(fault);
    else groups.push([fault]);
  }
  const stretch = announcements / (groups.length + 1);
  return groups.map((group, index) => ({
    at: Math.floor(stretch * (index + 0.7 + random.between(0, 60) / 100)),
    faults: group,
  }));
}
