import { installEventRuler } from "../picker/event-ruler.ts";
import { comparePickerWithRuler, measurePickerOverLoop } from "../picker/picker.ts";
import type { WorkloadName } from "../picker/workload.ts";
import { httpFloor, httpService, parseServer, type RegistrationServer } from "../http/contestants.ts";
import { measureServers } from "../http/http.ts";
import { findLoadGenerator } from "../http/load.ts";
import type { Measurement as HttpMeasurement } from "../http/measure.ts";
import { calculateRatio } from "../http/report.ts";
import { compareWays, type FoundRate } from "../router/report.ts";
import { measureRouterRounds } from "../router/router.ts";
import { measureStarts, type StartRound } from "../start.ts";
import { service } from "../support/contestant.ts";
import { divideRounds, reportProgress } from "../support/report.ts";
import type { BenchStack, BenchStore } from "../support/stack.ts";
import { measureIdle } from "../sync/memory.ts";
import { changesName, floor, measureRates, replayName } from "../sync/sync.ts";

/** A figure of `npm run bench -- check`. */
export interface Row {
  readonly name: string;
  readonly unit?: "s" | "MB";
  /** At least, or at most if less is better. */
  readonly aim?: number;
  readonly isLessBetter?: true;
}

/** Measures some rows together. */
export interface Measurement {
  readonly rows: readonly Row[];
  /** Whether it downloads another product to compare with, or takes an hour. */
  readonly isLong?: true;
  /** Returns the values of all rounds, for each row. */
  measure(stack: BenchStack): Promise<readonly (readonly number[])[]>;
}

export const findStore = ({ stores }: BenchStack, wanted: BenchStore["kind"]): BenchStore => {
  const store = stores.find(({ kind }) => kind === wanted);
  if (store === undefined) throw new Error(`there is no ${wanted} store to measure on`);
  return store;
};

/** The ratios and figures of the long form, with their aims. */
export const measurements: readonly Measurement[] = [
  {
    rows: [
      { name: "announcements/s ÷ floor, in memory", aim: 1.1 },
      { name: "replayed announcements/s ÷ first pass", aim: 1.5 },
      { name: "changing announcements/s ÷ first pass" },
    ],
    async measure(stack) {
      const options = { announcements: 200_000, rounds: 3, peer: false };
      const rates = await measureRates(stack, findStore(stack, "memory"), options);
      return [
        divideRounds(rates[service.name], rates[floor.name]),
        divideRounds(rates[replayName], rates[service.name]),
        divideRounds(rates[changesName], rates[service.name]),
      ];
    },
  },
  {
    rows: [{ name: "announcements/s ÷ floor, embedded store", aim: 0.97 }],
    async measure(stack) {
      const options = { announcements: 30_000, rounds: 3, peer: false };
      const rates = await measureRates(stack, findStore(stack, "embedded"), options);
      return [divideRounds(rates[service.name], rates[floor.name])];
    },
  },
  {
    rows: [
      { name: "registrations/s ÷ floor, 64 connections, new tokens", aim: 2 },
      { name: "registrations/s ÷ floor, 64 connections, repeated tokens", aim: 2 },
      { name: "registrations/s ÷ floor, 1 connection, new tokens", aim: 0.95 },
    ],
    async measure(stack) {
      const found = await register(stack, [httpFloor, httpService], [64, 1]);
      return [
        compareRates(found, httpFloor, { connections: 64, tokens: "new" }),
        compareRates(found, httpFloor, { connections: 64, tokens: "repeated" }),
        compareRates(found, httpFloor, { connections: 1, tokens: "new" }),
      ];
    },
  },
  {
    rows: [{ name: "registrations/s ÷ Parse Server, 64 connections, new tokens", aim: 70 }],
    isLong: true,
    async measure(stack) {
      const found = await register(stack, [parseServer, httpService], [64]);
      return [compareRates(found, parseServer, { connections: 64, tokens: "new" })];
    },
  },
  {
    rows: [{ name: "events/s ÷ floor, 10,000 topics" }, { name: "CPU per event, floor ÷ router" }],
    async measure(stack) {
      const found = await route(stack, { events: 300_000, rounds: 4, peer: false });
      return [compareFound(found, "perSecond"), compareFound(found, "cpuMicros")];
    },
  },
  {
    rows: [{ name: "events/s ÷ Kafka Streams, 10,000 topics", aim: 1.8 }],
    isLong: true,
    async measure(stack) {
      const found = await route(stack, { events: 400_000, rounds: 3, peer: true });
      return [[compareWays(found, { topics: 10_000, figure: "perSecond" }, ["router", "streams"])]];
    },
  },
  {
    rows: [{ name: "events picked ÷ a loop, CPU, 10,000 topics" }],
    measure: async () => [await measurePickerOverLoop()],
  },
  {
    rows: [{ name: "events picked/s ÷ Event Ruler, 100,000 topics", aim: 2.5 }],
    isLong: true,
    measure: async (stack) => [[(await pick(stack, { workload: "unique", topics: 100_000 })).rate]],
  },
  {
    rows: [
      { name: "events picked/s ÷ Event Ruler, 6,000 topics with operators", aim: 3 },
      { name: "memory ÷ Event Ruler, 6,000 topics with operators", aim: 1, isLessBetter: true },
    ],
    isLong: true,
    async measure(stack) {
      const { rate, memory } = await pick(stack, { workload: "patterns", topics: 6_000 });
      return [[rate], [memory]];
    },
  },
  {
    rows: [
      { name: "start to ready", unit: "s", aim: 0.8, isLessBetter: true },
      { name: "loading the libraries ÷ start to ready" },
      { name: "idle memory", unit: "MB", aim: 80, isLessBetter: true },
    ],
    async measure(stack) {
      const store = findStore(stack, "memory");
      const starts: StartRound[] = [];
      await measureStarts(stack, store, (round) => starts.push(round) < 5);
      reportProgress("measuring idle memory");
      return [
        starts.map((one) => one.service.ms / 1_000),
        starts.map((one) => one.floor.ms / one.service.ms),
        (await measureIdle(stack, store)).samples,
      ];
    },
  },
];

const register = async (
  stack: BenchStack,
  servers: readonly RegistrationServer[],
  connections: readonly number[],
): Promise<readonly HttpMeasurement[]> =>
  measureServers(
    { ...stack, stores: [findStore(stack, "memory")] },
    {
      ...{ servers, connections, seconds: 5, rounds: 4, pool: 2_000 },
      generator: await findLoadGenerator(stack.toolsFolder),
    },
  );

function compareRates(
  found: readonly HttpMeasurement[],
  reference: RegistrationServer,
  kind: Pick<HttpMeasurement, "connections" | "tokens">,
): number[] {
  const [store] = found.map((one) => one.store);
  return store === undefined
    ? []
    : [calculateRatio({ figure: "perSecond", reference }, { store, ...kind }, found)];
}

async function route(
  stack: BenchStack,
  { events, rounds, peer }: { readonly events: number; readonly rounds: number; readonly peer: boolean },
): Promise<readonly FoundRate[]> {
  let all: readonly FoundRate[] = [];
  await measureRouterRounds(stack, findStore(stack, "memory"), { events, peer }, (found) => {
    all = found;
    return found.filter(({ way }) => way === "router").length < rounds;
  });
  return all;
}

const compareFound = (found: readonly FoundRate[], figure: "perSecond" | "cpuMicros"): number[] => [
  compareWays(
    found,
    { topics: 10_000, figure },
    figure === "perSecond" ? ["router", "floor"] : ["floor", "router"],
  ),
];

const pick = async (
  { toolsFolder }: BenchStack,
  contest: { readonly workload: WorkloadName; readonly topics: number },
) => comparePickerWithRuler(await installEventRuler({ toolsFolder, report: reportProgress }), contest);
