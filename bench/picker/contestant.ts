/**
 * Measures one contestant in its own process:
 * `node --expose-gc bench/picker/contestant.ts picker|naive|turns WORKLOAD TOPICS`. Prints one line of JSON.
 * `turns` measures both in turns, and prints the ratio of each round.
 */
import { createConditionTest, readFilters } from "@topicsync/filters";
import { createPicker, type FilterTexts } from "@topicsync/filters/picker";
import { furtherTopics, getPlan, turns, type ContestantResult, type Plan } from "./plan.ts";
import { createWorkload, workloads, type BenchTopic, type Workload } from "./workload.ts";

interface Contestant {
  set(id: string, filters: FilterTexts): void;
  pick(event: unknown): readonly string[];
}

const [way, name, topics] = process.argv.slice(2);
const workloadName = workloads.find((one) => one === name);
if (workloadName === undefined) throw new Error(`unknown workload ${name ?? ""}`);
const workload = createWorkload(workloadName);
const result =
  way === "turns"
    ? measureTurns(workload)
    : way === "naive"
      ? measure(createNaive(), getPlan("naive"), workload)
      : measure(createPicker(), getPlan("picker"), workload);
process.stdout.write(`${JSON.stringify(result)}\n`);

function measure(
  contestant: Contestant,
  { events: eventCount, warmUps, rounds, passes }: Plan,
  workload: Workload,
): ContestantResult {
  const count = Number(topics);
  const events = workload.events(eventCount, count);
  const empty = memoryUsed();
  let milliseconds = 0;
  for (const batch of splitIntoBatches(workload.topics(0, count)))
    milliseconds += timeToSet(contestant, batch);
  const bytes = memoryUsed() - empty;
  for (let round = 0; round < warmUps; round += 1) measureRate(contestant, events, passes);
  const rates = Array.from({ length: rounds }, () => measureRate(contestant, events, passes));
  const matches = events.map((event) => contestant.pick(JSON.parse(event)).length);
  const further = [...workload.topics(count, count + furtherTopics)];
  const setMicroseconds = further.map((topic) => 1_000 * timeToSet(contestant, [topic]));
  return { buildSeconds: milliseconds / 1_000, bytes, rates, matches, setMicroseconds };
}

/** The picker's events per CPU time as a multiple of the loop's, of each round. */
function measureTurns(workload: Workload): number[] {
  const count = Number(topics);
  const [picker, naive] = [createPicker(), createNaive()];
  for (const { id, filters } of workload.topics(0, count))
    for (const one of [picker, naive]) one.set(id, filters);
  const events = workload.events(turns.pickerEvents, count);
  const measureCpu = (contestant: Contestant, some: readonly string[]): number => {
    const before = process.cpuUsage();
    for (const event of some) contestant.pick(JSON.parse(event));
    const { user, system } = process.cpuUsage(before);
    return (user + system) / some.length;
  };
  const ratios = Array.from({ length: 1 + turns.rounds }, () => {
    const pickerMicros = measureCpu(picker, events);
    return measureCpu(naive, events.slice(0, turns.naiveEvents)) / pickerMicros;
  });
  // The first round compiles code.
  return ratios.slice(1);
}

/** The topics of a batch are created before they are timed; batches limit the memory that they need. */
function* splitIntoBatches(all: Iterable<BenchTopic>): Generator<BenchTopic[]> {
  let batch: BenchTopic[] = [];
  for (const topic of all) {
    batch.push(topic);
    if (batch.length < 1_000) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

function timeToSet(contestant: Contestant, batch: readonly BenchTopic[]): number {
  const start = performance.now();
  for (const { id, filters } of batch) contestant.set(id, filters);
  return performance.now() - start;
}

/** Events per second, including JSON.parse. */
function measureRate(contestant: Contestant, events: readonly string[], passes: number): number {
  const start = performance.now();
  for (let pass = 0; pass < passes; pass += 1) for (const event of events) contestant.pick(JSON.parse(event));
  return (1_000 * passes * events.length) / (performance.now() - start);
}

/** Bytes in use after garbage collection, including typed arrays. */
function memoryUsed(): number {
  if (globalThis.gc === undefined) throw new Error("start Node with --expose-gc");
  for (let times = 0; times < 3; times += 1) globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Tests every topic for every event; filters are parsed only once. */
function createNaive(): Contestant {
  const all: { id: string; tests: ((event: unknown) => boolean)[] }[] = [];
  return {
    set(id, filters) {
      all.push({ id, tests: readFilters(filters).map(createConditionTest) });
    },
    pick: (event) => all.filter(({ tests }) => tests.every((test) => test(event))).map(({ id }) => id),
  };
}
