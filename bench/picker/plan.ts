import type { WorkloadName } from "./workload.ts";

/** The contestants. */
export type Way = "picker" | "ruler" | "naive";

export const contestantNames: Readonly<Record<Way, string>> = {
  picker: "topicsync",
  ruler: "Event Ruler",
  naive: "naive",
};

export interface ContestantResult {
  readonly buildSeconds: number;
  /** Memory of the topics after garbage collection. */
  readonly bytes: number;
  /** Events per second of each round, including parsing. */
  readonly rates: readonly number[];
  /** The number of matching topics of each event. */
  readonly matches: readonly number[];
  /** The time to add each of the further topics. */
  readonly setMicroseconds: readonly number[];
}

export interface Found extends ContestantResult {
  readonly way: Way;
  readonly workload: WorkloadName;
  readonly topics: number;
}

/** Each round picks for all events `passes` times. */
export interface Plan {
  readonly events: number;
  readonly warmUps: number;
  readonly rounds: number;
  readonly passes: number;
}

/** Topics added one by one after all others. */
export const furtherTopics = 2_000;

/** The naive loop is hundreds of times slower and gets only the first events. */
export const getPlan = (way: Way): Plan =>
  way === "naive"
    ? { events: 1_000, warmUps: 1, rounds: 4, passes: 1 }
    : { events: 20_000, warmUps: 4, rounds: 4, passes: 5 };

/** Of measurements in turns. */
export const turns = { rounds: 9, pickerEvents: 40_000, naiveEvents: 200 };
