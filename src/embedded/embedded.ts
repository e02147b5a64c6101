import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join, resolve } from "node:path";

import type { Config } from "../config.ts";
import { UnavailableError } from "../lib/errors.ts";
import type { Lifecycle } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/logger.ts";
import { startBroker, startStore } from "./resolve.ts";
import type { Running } from "./stack.ts";

export interface EmbeddedOptions {
  readonly config: Config;
  readonly log: Logger;
  /** What is started here is stopped through it. */
  readonly lifecycle: Lifecycle;
}

/** Where the running embedded stack of a data folder is, so that other commands find it. */
interface Found {
  readonly store?: string;
  readonly broker?: string;
}

const databaseName = "topicsync";

/**
 * The addresses of the settings; where they name no store or no broker, an embedded one is started.
 * `ended` is called when one of these ends by itself. Throws when none can be had, saying what is missing.
 */
export async function embeddedAddresses(
  options: EmbeddedOptions & { readonly ended: (error: unknown) => void },
): Promise<{ mongodbUri: string; kafkaBrokers: readonly string[] }> {
  const { config, lifecycle, log, ended } = options;
  const { mongodbUri, kafka } = config;
  if (mongodbUri !== undefined && kafka.brokers !== undefined)
    return { mongodbUri, kafkaBrokers: kafka.brokers };

  const folder = resolve(config.stack.dataFolder);
  await rejectSecond(config, folder);
  const own = <R extends Running>(running: R): R => {
    log.info({ address: running.address }, `running ${running.description}`);
    lifecycle.onStop(running.description, () => running.stop());
    void running.ended.then((how) => {
      ended(new UnavailableError(`${running.description} ended: ${how}`));
    });
    return running;
  };
  const [store, broker] = await Promise.all([
    mongodbUri === undefined ? startStore(launchOptions(options, "store")).then(own) : undefined,
    kafka.brokers === undefined ? startBroker(launchOptions(options, "broker")).then(own) : undefined,
  ]);
  remember(folder, lifecycle, {
    ...(store === undefined ? {} : { store: store.address }),
    ...(broker === undefined ? {} : { broker: broker.address }),
  });
  return {
    mongodbUri: mongodbUri ?? withDatabase(store?.address ?? ""),
    kafkaBrokers: kafka.brokers ?? broker?.address.split(",") ?? [],
  };
}

/** The store of the settings; otherwise the embedded one that runs already on this data folder, or else a new one. */
export async function embeddedStore(options: EmbeddedOptions): Promise<string> {
  const { config, lifecycle } = options;
  if (config.mongodbUri !== undefined) return config.mongodbUri;
  const { store } = recall(resolve(config.stack.dataFolder));
  if (store !== undefined && (await answers(new URL(store)))) return withDatabase(store);
  const started = await startStore(launchOptions(options, "store"));
  lifecycle.onStop(started.description, () => started.stop());
  return withDatabase(started.address);
}

/**
 * The brokers of the settings; otherwise the embedded one that runs already on this data folder. None is started: what
 * a command could read from it comes from a service that runs. Throws UnavailableError.
 */
export async function embeddedBroker({
  config,
}: Pick<EmbeddedOptions, "config">): Promise<readonly string[]> {
  if (config.kafka.brokers !== undefined) return config.kafka.brokers;
  const { broker } = recall(resolve(config.stack.dataFolder));
  if (broker !== undefined) {
    const brokers = broker.split(",");
    if (await anyAnswers(brokers)) return brokers;
  }
  throw new UnavailableError(
    `no embedded stack is running on ${config.stack.dataFolder}; start the service first, or set KAFKA_BROKERS`,
  );
}

/** Throws UnavailableError where a service runs its own broker or store on this folder already: neither can be opened twice. */
async function rejectSecond({ stack, mongodbUri, kafka }: Config, folder: string): Promise<void> {
  const { store, broker } = recall(folder);
  const settings: string[] = [];
  if (mongodbUri === undefined && store !== undefined && (await answers(new URL(store))))
    settings.push(`MONGODB_URI='${withDatabase(store)}'`);
  if (kafka.brokers === undefined && broker !== undefined && (await anyAnswers(broker.split(","))))
    settings.push(`KAFKA_BROKERS=${broker}`);
  if (settings.length === 0) return;
  throw new UnavailableError(
    `another topicsync runs its own broker and store on ${stack.dataFolder}: stop it, or start this one beside it, ` +
      `with ${settings.join(" ")} and another HTTP_PORT`,
  );
}

function launchOptions({ config, log }: EmbeddedOptions, part: "store" | "broker") {
  const folder = resolve(config.stack.dataFolder);
  const said = new Map<string, number>();
  const report = (step: string, done = 0): void => {
    const tenth = Math.floor(done * 10);
    if ((said.get(step) ?? -1) >= tenth) return;
    said.set(step, tenth);
    log.info(done === 0 ? step : `${step}: ${tenth * 10} %`);
  };
  return {
    ...config.stack,
    toolsFolder: join(folder, "tools"),
    dataFolder: join(folder, "data", part),
    report,
  };
}

const fileIn = (folder: string): string => join(folder, "running.json");

function remember(folder: string, lifecycle: Lifecycle, found: Found): void {
  writeFileSync(fileIn(folder), JSON.stringify(found));
  lifecycle.onStop("running.json", () => {
    rmSync(fileIn(folder), { force: true });
  });
}

function recall(folder: string): Found {
  try {
    return JSON.parse(readFileSync(fileIn(folder), "utf8")) as Found;
  } catch {
    return {};
  }
}

/** Whether something listens at the host and port of a connection string. */
function answers({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: 1_000 });
    const done = (answer: boolean) => (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", done(true)).once("error", done(false)).once("timeout", done(false));
  });
}

async function anyAnswers(brokers: readonly string[]): Promise<boolean> {
  const answering = await Promise.all(brokers.map((address) => answers(new URL(`kafka://${address}`))));
  return answering.includes(true);
}

function withDatabase(store: string): string {
  const uri = new URL(store);
  uri.pathname = `/${databaseName}`;
  return uri.href;
}
