import type { WorkloadName } from "./workload.ts";

/** The ways to pick topics that are measured. */
export type Way = "picker" | "ruler" | "naive";

/** What a contestant tells of itself. */
export interface ContestantResult {
  readonly buildSeconds: number;
  /** What the topics take, once the garbage is gone. */
  readonly bytes: number;
  /** Events per second, from the text on, of each round. */
  readonly rates: readonly number[];
  /** How many topics each event belongs to. */
  readonly matches: readonly number[];
  /** How long it took to add one more topic, for each of them. */
  readonly setMicroseconds: readonly number[];
}

/** What was found for one way, one workload and one number of topics. */
export interface Found extends ContestantResult {
  readonly way: Way;
  readonly workload: WorkloadName;
  readonly topics: number;
}

/** How many events there are, how often all of them are gone through in a round, and how many rounds. */
export interface Plan {
  readonly events: number;
  readonly warmUps: number;
  readonly rounds: number;
  readonly passes: number;
}

/** Topics that are added one by one once all others are there. */
export const furtherTopics = 2_000;

/** The naive way gets the first of the events only: it is hundreds of times slower. */
export const plan = (way: Way): Plan =>
  way === "naive"
    ? { events: 1_000, warmUps: 1, rounds: 4, passes: 1 }
    : { events: 20_000, warmUps: 4, rounds: 4, passes: 5 };
