import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Command } from "commander";

import { httpFloor, httpService } from "./http/contestants.ts";
import { measureServers } from "./http/http.ts";
import { findLoadGenerator } from "./http/load.ts";
import { calculateRatio } from "./http/report.ts";
import { measurePickerOverLoop } from "./picker/picker.ts";
import { compareRouterWithFloor } from "./router/router.ts";
import { measureStart } from "./start.ts";
import { service } from "./support/contestant.ts";
import { createJsonOption } from "./support/options.ts";
import { median, medianRatio, printReports, reportProgress, type Report } from "./support/report.ts";
import { startStack, type BenchStack } from "./support/stack.ts";
import { measureIdle } from "./sync/memory.ts";
import { changesName, floor, measureRates, replayName } from "./sync/sync.ts";

/** Ratios by name. A larger one is better. */
type Ratios = Readonly<Record<string, number>>;

interface Reference {
  readonly date: string;
  readonly ratios: Ratios;
}

interface CheckOptions {
  readonly update?: true;
  readonly json?: true;
}

const referenceFile = join(import.meta.dirname, "reference.json");
/** A smaller loss is within the differences between runs. */
const maxLoss = 0.1;

export const checkCommand = (): Command =>
  new Command("check")
    .description(
      "compares short measurements with bench/reference.json; exits with 1 if one is more than 10 % worse",
    )
    .option("--update", "write the measured ratios to bench/reference.json instead")
    .addOption(createJsonOption())
    .action(async (options: CheckOptions) => {
      await using stack = await startStack("memory", { forLatency: true });
      const ratios = await measureRatios(stack);
      if (options.update) {
        const rounded = Object.entries(ratios).map(([what, ratio]) => [what, Number(ratio.toPrecision(3))]);
        const date = new Date().toISOString().slice(0, 10);
        const reference: Reference = { date, ratios: Object.fromEntries(rounded) as Ratios };
        writeFileSync(referenceFile, `${JSON.stringify(reference, undefined, 2)}\n`);
        process.stdout.write(`${referenceFile} written\n`);
        return;
      }
      const reference = JSON.parse(readFileSync(referenceFile, "utf8")) as Reference;
      const compared = compare(ratios, reference.ratios);
      printReports([toReport(compared, reference.date)], stack.broker.description, options);
      if (compared.some(({ isWorse }) => isWorse)) process.exitCode = 1;
    });

async function measureRatios(stack: BenchStack): Promise<Ratios> {
  const [store] = stack.stores;
  if (store === undefined) throw new Error("there is no store to measure on");
  const rates = await measureRates(stack, store, { announcements: 60_000, rounds: 4, peer: false });
  const getRates = (name: string): readonly number[] => rates[name] ?? [];
  const registrations = await measureServers(stack, {
    servers: [httpFloor, httpService],
    generator: await findLoadGenerator(stack.toolsFolder),
    connections: [64],
    seconds: 5,
    rounds: 4,
    pool: 2_000,
  });
  const toRatio = (tokens: "new" | "repeated"): number =>
    calculateRatio(
      { figure: "perSecond", reference: httpFloor },
      { store, connections: 64, tokens },
      registrations,
    );
  reportProgress("measuring the picker");
  const picker = await measurePickerOverLoop();
  const router = await compareRouterWithFloor(stack, store);
  reportProgress("measuring start and idle memory");
  const start = await measureStart(stack, store);
  const { samples } = await measureIdle(stack, store);
  return {
    "sync: announcements/s ÷ floor": medianRatio(getRates(service.name), getRates(floor.name)),
    "sync: replay ÷ first pass": medianRatio(getRates(replayName), getRates(service.name)),
    "sync: changes ÷ first pass": medianRatio(getRates(changesName), getRates(service.name)),
    "http: registrations/s ÷ floor, new tokens": toRatio("new"),
    "http: registrations/s ÷ floor, repeated tokens": toRatio("repeated"),
    "picker: events/s ÷ loop": picker,
    "router: events/s ÷ floor": router.rate,
    "router: CPU per event, floor ÷ router": router.cpu,
    "start: loading the libraries ÷ ready": start,
    "memory: 100 MB ÷ idle": 100 / median(samples),
  };
}

interface Compared {
  readonly what: string;
  readonly ratio: number;
  readonly reference: number;
  readonly isWorse: boolean;
}

const compare = (ratios: Ratios, reference: Ratios): Compared[] =>
  Object.entries(ratios).map(([what, ratio]) => {
    const known = reference[what] ?? NaN;
    // Also if one of the two is missing (NaN).
    const isWorse = !(ratio >= known * (1 - maxLoss));
    return { what, ratio, reference: known, isWorse };
  });

const toReport = (compared: readonly Compared[], date: string): Report => ({
  title: `check, compared with ${date}`,
  head: ["ratio", "reference", "now", "change", ""],
  rows: compared.map(({ what, ratio, reference, isWorse }) => [
    what,
    reference.toFixed(2),
    ratio.toFixed(2),
    `${(100 * (ratio / reference - 1)).toFixed(0)} %`,
    isWorse ? "worse" : "",
  ]),
  notes: ["Larger is better. Repeat the check on an idle machine before you look for a cause."],
  data: compared,
});
