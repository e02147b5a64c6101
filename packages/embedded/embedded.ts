import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join, resolve } from "node:path";

import { ConfigurationError, UnavailableError } from "@topicsync/lib/errors";
import type { Lifecycle } from "@topicsync/lib/lifecycle";
import type { Logger } from "@topicsync/lib/logger";
import { requireTrusted, requireTrustedFolder } from "@topicsync/lib/trusted-path";
import { startBroker, startStore, type ResolveOptions } from "./resolve.ts";
import type { Running } from "./stack.ts";

/** Settings that are missing are answered by the embedded stack. */
interface EmbeddedConfig {
  readonly mongodbUri: string | undefined;
  readonly kafka: { readonly brokers: readonly string[] | undefined };
  readonly stack: Pick<ResolveOptions, "choice" | "dataFolder" | "kafkaImage" | "mongoImage">;
}

interface EmbeddedOptions {
  readonly config: EmbeddedConfig;
  readonly log: Logger;
  /** Stops the servers started here. */
  readonly lifecycle: Lifecycle;
}

/** The addresses of the embedded stack running on a data folder, stored for other commands. */
interface ServerAddresses {
  readonly store?: string;
  readonly broker?: string;
}

const databaseName = "topicsync";
const component = "embedded";

/**
 * Returns the addresses of the settings; starts an embedded store or broker for a missing one. `ended` is
 * called if an embedded server exits unexpectedly. Throws an UnavailableError that says what is missing if
 * none can be started, and a ConfigurationError where none may be.
 */
export async function resolveAddresses(
  options: EmbeddedOptions & { readonly ended: (error: unknown) => void },
): Promise<{ mongodbUri: string; kafkaBrokers: readonly string[] }> {
  const { config, lifecycle, ended } = options;
  const { mongodbUri, kafka } = config;
  if (mongodbUri !== undefined && kafka.brokers !== undefined)
    return { mongodbUri, kafkaBrokers: kafka.brokers };

  requireAllowed(config, [
    ...(mongodbUri === undefined ? ["MONGODB_URI"] : []),
    ...(kafka.brokers === undefined ? ["KAFKA_BROKERS"] : []),
  ]);
  const folder = getDataFolder(config);
  await rejectSecond(config, folder);
  const log = options.log.child({ component });
  const register = <R extends Running>(running: R): R => {
    log.info({ server: running.description, address: running.address }, "server started");
    lifecycle.onStop(running.description, () => running.stop());
    void running.ended.then((how) => {
      ended(new UnavailableError(`${running.description} ended: ${how}`));
    });
    return running;
  };
  const [store, broker] = await Promise.all([
    mongodbUri === undefined ? startStore(createLaunchOptions(options, "store")).then(register) : undefined,
    kafka.brokers === undefined
      ? startBroker(createLaunchOptions(options, "broker")).then(register)
      : undefined,
  ]);
  writeAddresses(folder, lifecycle, {
    ...(store === undefined ? {} : { store: store.address }),
    ...(broker === undefined ? {} : { broker: broker.address }),
  });
  return {
    mongodbUri: mongodbUri ?? withDatabase(store?.address ?? ""),
    kafkaBrokers: kafka.brokers ?? broker?.address.split(",") ?? [],
  };
}

/**
 * Returns the store of the settings, or else the embedded one running on this data folder. Starts none: a
 * command with a missing setting would succeed on an empty store. Throws UnavailableError, and a
 * ConfigurationError where no embedded store may run.
 */
export const resolveStore = async (config: EmbeddedConfig): Promise<string> =>
  config.mongodbUri ?? withDatabase(await requireRunning(config, "store", "MONGODB_URI"));

/** Returns the brokers, as resolveStore does. */
export const resolveBroker = async (config: EmbeddedConfig): Promise<readonly string[]> =>
  config.kafka.brokers ?? (await requireRunning(config, "broker", "KAFKA_BROKERS")).split(",");

async function requireRunning(
  config: EmbeddedConfig,
  part: keyof ServerAddresses,
  setting: string,
): Promise<string> {
  requireAllowed(config, [setting]);
  const address = await findRunning(getDataFolder(config), part);
  if (address !== undefined) return address;
  throw new UnavailableError(
    `no embedded stack is running on ${config.stack.dataFolder}; start the service first, or set ${setting}`,
  );
}

/** Returns the address of an embedded server if it responds. */
async function findRunning(folder: string, part: keyof ServerAddresses): Promise<string | undefined> {
  const address = readAddresses(folder)[part];
  const urls = address?.split(",").map((one) => new URL(one.includes("://") ? one : `kafka://${one}`));
  const reachable = await Promise.all(urls?.map(isReachable) ?? []);
  return reachable.includes(true) ? address : undefined;
}

/**
 * An embedded server has no password. In production, a missing setting is a mistake, not a wish for one.
 * Throws a ConfigurationError that names the missing settings.
 */
function requireAllowed({ stack }: EmbeddedConfig, missing: readonly string[]): void {
  const isProduction = process.env["NODE_ENV"] === "production";
  if (!isProduction && stack.choice !== "none") return;
  throw new ConfigurationError(
    `${isProduction ? 'NODE_ENV is "production"' : 'TOPICSYNC_STACK is "none"'}, ` +
      `so no embedded broker or store is used: set ${missing.join(" and ")}`,
  );
}

/** The folder of the embedded stack. Its programs are executed, so it must not be another user's. */
function getDataFolder({ stack }: EmbeddedConfig): string {
  const folder = resolve(stack.dataFolder);
  requireTrustedFolder(dirname(folder));
  requireTrusted(folder);
  return folder;
}

/**
 * Throws UnavailableError if another service runs an embedded server on this folder, since data cannot be
 * opened twice.
 */
async function rejectSecond({ stack, mongodbUri, kafka }: EmbeddedConfig, folder: string): Promise<void> {
  const store = mongodbUri === undefined ? await findRunning(folder, "store") : undefined;
  const broker = kafka.brokers === undefined ? await findRunning(folder, "broker") : undefined;
  const settings = [
    ...(store === undefined ? [] : [`MONGODB_URI='${withDatabase(store)}'`]),
    ...(broker === undefined ? [] : [`KAFKA_BROKERS=${broker}`]),
  ];
  if (settings.length === 0) return;
  throw new UnavailableError(
    `another topicsync runs its embedded broker and store on ${stack.dataFolder}: stop it, or share them by ` +
      `setting ${settings.join(" ")} and another HTTP_PORT`,
  );
}

function createLaunchOptions(options: EmbeddedOptions, part: "store" | "broker") {
  const { config } = options;
  const log = options.log.child({ component });
  const folder = getDataFolder(config);
  const reported = new Map<string, number>();
  const report = (step: string, done = 0): void => {
    const tenth = Math.floor(done * 10);
    if ((reported.get(step) ?? -1) >= tenth) return;
    reported.set(step, tenth);
    log.info(done === 0 ? step : `${step}: ${tenth * 10} %`);
  };
  return {
    ...config.stack,
    toolsFolder: join(folder, "tools"),
    dataFolder: join(folder, "data", part),
    report,
  };
}

const getAddressFile = (folder: string): string => join(folder, "running.json");

function writeAddresses(folder: string, lifecycle: Lifecycle, found: ServerAddresses): void {
  writeFileSync(getAddressFile(folder), JSON.stringify(found));
  lifecycle.onStop("running.json", () => {
    rmSync(getAddressFile(folder), { force: true });
  });
}

function readAddresses(folder: string): ServerAddresses {
  try {
    return JSON.parse(readFileSync(getAddressFile(folder), "utf8")) as ServerAddresses;
  } catch {
    return {};
  }
}

/** A local port answers at once, but a process that is starting may hear of it much later. */
const connectTimeoutMs = 10_000;

/** Whether a server listens at the host and port of a connection string. */
function isReachable({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: connectTimeoutMs });
    const done = (reachable: boolean) => (): void => {
      socket.destroy();
      resolve(reachable);
    };
    socket.once("connect", done(true)).once("error", done(false)).once("timeout", done(false));
  });
}

function withDatabase(store: string): string {
  const uri = new URL(store);
  uri.pathname = `/${databaseName}`;
  return uri.href;
}
