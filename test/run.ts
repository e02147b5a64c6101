/**
 * `npm test`: starts a broker and stores by the project's own resolver, runs the tests, and stops them.
 * `npm run test:long` does the same for the files named `*.long.test.ts`, which are long by nature. With
 * words, such as `npm test -- integration/http`, both run only their files whose path contains one of them.
 */
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";

import { getErrorMessage } from "@topicsync/lib/errors";
import {
  prepareKafkaJava,
  startBroker,
  startStore,
  type ResolveOptions,
  type Running,
} from "@topicsync/embedded";
import { buildConsole } from "../console/bundle.ts";
import { readEnvironment, readConfig } from "../src/config/config.ts";
import { useBroker } from "./support/broker-use.ts";
import { startChromium } from "./support/chromium.ts";
import { joinFiles } from "./support/joined-files.ts";
import { findOnPath } from "./support/path.ts";
import { findLeaks } from "./support/secrets.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const isLong = process.argv[2] === "--long";
const words = process.argv.slice(isLong ? 3 : 2);
/** Tests wait twice as long as they compute: six files at a time keep two cores busy. */
const maxConcurrentFiles = 6;
/** One store for each: SecantusDB executes one command at a time. */
const maxStores = maxConcurrentFiles;
/**
 * Java's optimising compiler takes half of a broker's first minutes; few test brokers live longer. Collecting
 * garbage concurrently does not pay for small heaps.
 */
const quickJava = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData";

/**
 * A larger young generation and a heap that grows early save the simulation a fifth of its computing, and a
 * young generation that is large from the start an eighth of what a service takes.
 */
const fewCollections = ["--min-semi-space-size=16", "--max-semi-space-size=32", "--heap-growing-percent=100"];

/** Only a test that hangs needs so long: the longest ones take eleven minutes on two busy cores. */
const fileTimeoutMs = 3_600_000;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** The files of both commands whose path contains one of the words, or all. */
const matchingFiles = globSync("{test,packages/*/test}/**/*.test.ts", { cwd: root })
  .toSorted()
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)));
const isLongFile = (file: string): boolean => file.endsWith(".long.test.ts");

/** The files to run, the slowest first: whatever ends last, it is short. */
function findTestFiles(): string[] {
  const chosen = matchingFiles.filter((file) => isLongFile(file) === isLong);
  const slow = slowFiles.flatMap((name) => chosen.filter((file) => file.includes(name)));
  return [...slow, ...spread(chosen.filter((file) => !slow.includes(file)))];
}

/** Of each command, in an order in which those that wait stand between those that compute. */
const slowFiles = [
  // Those that share a service run here.
  "integration/http/access.",
  "integration/router/forwarding",
  "integration/http/schemathesis",
  "integration/sync/kafka-security",
  "simulation/simulation.",
  "integration/release/",
  "integration/sync/racks",
  "integration/docs/commands",
  "integration/router/broker-loss",
  "integration/sync/faults",
  "conformance/cluster",
  "integration/sync/outages",
  "integration/chaos/",
  "integration/sync/broker-outages",
  "integration/sync/instances",
  "integration/sync/dead-letters.",
  "integration/cli/dead-letters",
];

/**
 * Distributes the files of each folder evenly over the run. Those of one folder are alike; mixing those that
 * wait (for a store that is away) with those that compute (the console's pages) keeps both cores busy.
 */
function spread(files: readonly string[]): string[] {
  const places = [...Map.groupBy(files, (file) => dirname(file)).values()].flatMap((folder) =>
    folder.map((file, at) => ({ file, place: (at + 0.5) / folder.length })),
  );
  return places.toSorted((one, other) => one.place - other.place).map(({ file }) => file);
}

/** Tests that need programs which the tests do not bring themselves. */
const needs = [
  {
    folder: "test/integration/deploy/prometheus/",
    programs: ["prometheus", "promtool"],
    cure: "install Prometheus, on Debian and Ubuntu with `apt-get install --no-install-recommends prometheus`",
  },
  {
    folder: "test/integration/docs/spec/",
    programs: ["spin", "gcc"],
    cure: "install Spin, on Debian and Ubuntu with `apt-get install --no-install-recommends spin gcc libc6-dev`",
  },
] as const;

/**
 * Splits the files into those to run and descriptions of those that lack a program. Throws in CI if there are
 * any.
 */
function splitByNeeds(all: readonly string[]): { files: string[]; notRun: string[] } {
  const missing = needs.filter(({ programs }) =>
    programs.some((program) => findOnPath(program) === undefined),
  );
  const files = all.filter((file) => !missing.some(({ folder }) => file.startsWith(folder)));
  const notRun = missing.flatMap(({ folder, programs, cure }) => {
    const without = all.filter((file) => file.startsWith(folder));
    return without.length === 0 ? [] : [`${without.join(", ")}: needs ${programs.join(" and ")}; ${cure}`];
  });
  if (notRun.length > 0 && process.env["CI"] === "true") throw new Error(notRun.join("\n"));
  return { files, notRun };
}

async function runTests(files: readonly string[]): Promise<boolean> {
  const { stack } = readConfig(readEnvironment(process.env));
  process.env["JDK_JAVA_OPTIONS"] ??= quickJava;
  const folder = mkdtempSync(join(tmpdir(), "topicsync-test-"));
  await using started = new AsyncDisposableStack();
  started.defer(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const said = new Set<string>();
  const report = (step: string): void => {
    if (!said.has(step)) print(step);
    said.add(step);
  };
  const options = { ...stack, toolsFolder: resolve(root, ".topicsync/tools"), report };
  const needsBrowser = files.some((file) => file.startsWith("test/integration/console/"));
  if (needsBrowser) {
    const [browser] = await Promise.all([startChromium(options), buildConsole()]);
    started.defer(() => browser.close());
    process.env["TEST_BROWSER"] = browser.wsEndpoint();
  }
  const use = async <R extends Running>(starting: Promise<R>): Promise<R> => {
    const running = await starting;
    started.defer(() => stop(running));
    return running;
  };
  const startingBroker = startSharedBroker({ ...options, dataFolder: join(folder, "broker") }, use);
  const startingStores = Array.from({ length: Math.min(maxStores, files.length) }, (_, index) =>
    use(startStore({ ...options, dataFolder: join(folder, `store-${index}`) })),
  );
  // If one fails, the others are stopped only once they have started.
  await Promise.allSettled([startingBroker, ...startingStores]);
  const broker = await startingBroker;
  const stores = await Promise.all(startingStores);
  const store = stores[0]?.description ?? "";
  print(`The tests run on ${broker.description} and ${store}, Node ${process.version}.`);

  const logs = join(folder, "logs");
  const inUse = join(folder, "in-use");
  for (const made of [logs, inUse]) mkdirSync(made);
  Object.assign(process.env, {
    TEST_MONGODB_URIS: stores.map(({ address }) => address).join(" "),
    TEST_STORES: inUse,
    TEST_KAFKA_BROKERS: broker.address,
    TEST_LOGS: logs,
    // Without it, each of hundreds of processes would compile the same sources. It is kept for the next run.
    NODE_COMPILE_CACHE: resolve(root, ".topicsync/compile-cache"),
  });
  const passed = await runFiles(joinFiles(files, folder));
  print(`The tests ran on ${broker.description} and ${store}.`);
  return checkLogs(logs) && passed;
}

/**
 * Starts the broker, twice if there is no archive of Kafka's classes yet: a broker writes the classes that it
 * has loaded when it stops, and without them each broker that a test starts would compute for ten seconds
 * instead of two.
 */
async function startSharedBroker(
  options: ResolveOptions,
  use: (starting: Promise<Running>) => Promise<Running>,
): Promise<Running> {
  const broker = await use(startBroker(options));
  if (broker.pid === undefined || existsSync((await prepareKafkaJava(options)).archive)) return broker;
  await useBroker(broker.address);
  // Its own `stop` kills it after ten seconds, within which a busy machine does not write the archive.
  process.kill(broker.pid, "SIGTERM");
  await broker.ended;
  return use(startBroker(options));
}

const maxListedFiles = 10;

/** Runs the files in this order, each in its own process. Returns whether every test passed. */
async function runFiles(files: readonly string[]): Promise<boolean> {
  const abort = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      abort.abort();
    });
  // Loaded after the module above, which this process needs as well: it relays the browser's messages.
  const { run } = await import("node:test");
  const events = run({
    files: files.map((file) => resolve(root, file)),
    cwd: root,
    concurrency: maxConcurrentFiles,
    execArgv: fewCollections,
    timeout: fileTimeoutMs,
    signal: abort.signal,
  });
  let passed = false;
  const durations: { readonly file: string; readonly ms: number }[] = [];
  events.on("test:summary", ({ file, success, duration_ms: ms }) => {
    if (file === undefined) passed = success;
    else durations.push({ file: relative(root, file), ms });
  });
  await pipeline(events, new spec(), process.stdout, { end: false });
  const slowest = durations.toSorted((one, other) => other.ms - one.ms).slice(0, maxListedFiles);
  print(
    ["The slowest files:", ...slowest.map(({ file, ms }) => `${(ms / 1_000).toFixed(0)} s ${file}`)].join(
      "\n  ",
    ),
  );
  return passed;
}

/** Returns whether the logs of the run are free of secrets. */
function checkLogs(logs: string): boolean {
  const { leaks, lines, secrets } = findLeaks(logs);
  if (lines > 0 && secrets === 0) print("The tests kept logs, but no secret to search them for.");
  else if (leaks.length === 0) print(`No secret in ${lines} lines of logs.`);
  else print([`These lines of the logs have a secret (test/support/secrets.ts):`, ...leaks].join("\n"));
  return leaks.length === 0 && (lines === 0 || secrets > 0);
}

async function stop(running: Running): Promise<void> {
  await running.stop();
  await running.removeData?.();
}

const files = findTestFiles();
if (files.length === 0) {
  print(`No file of \`${isLong ? "npm run test:long" : "npm test"}\` has ${words.join(" or ")} in its path.`);
  if (matchingFiles.length > 0)
    print(
      `Run \`${isLong ? "npm test" : "npm run test:long"} -- ${words.join(" ")}\` for ${matchingFiles.join(", ")}.`,
    );
  process.exitCode = 1;
} else {
  try {
    const { files: runnable, notRun } = splitByNeeds(files);
    process.exitCode = runnable.length === 0 || (await runTests(runnable)) ? 0 : 1;
    for (const description of notRun) print(`Not run: ${description}.`);
  } catch (error) {
    print(getErrorMessage(error));
    process.exitCode = 1;
  }
}
