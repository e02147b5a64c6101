import { hostname, userInfo } from "node:os";

import type { AuditEvent } from "@topicsync/lib/audit/audit";
import { openAuditLog } from "@topicsync/lib/audit/log";
import { ConfigurationError, getErrorMessage, UnavailableError } from "@topicsync/lib/errors";
import type { Broker } from "@topicsync/kafka/client";
import { createLifecycle, type Lifecycle } from "@topicsync/lib/lifecycle";
import { createLogger, type Logger } from "@topicsync/lib/logger";
import { readEnvironment, readConfig, type Config } from "../config/config.ts";
import type { Services } from "../service/services.ts";
import type { Database } from "../storage/database/database.ts";
import { findServer } from "./input/server.ts";
import { runUntilStopped } from "./until-stopped.ts";

/** What a command works with. Database and broker are connected on first use. */
export interface CommandContext {
  readonly config: Config;
  /** Writes to standard error; standard output is for the result. */
  readonly log: Logger;
  /**
   * Opens the audit log, to be called before any change. Returns a function that records a change as made by
   * the user of the machine. Throws a ConfigurationError when the log cannot be written.
   */
  readonly audit: () => RecordChange;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly abort: AbortSignal;
  /**
   * The stores and services over the database. Throws UnavailableError when MongoDB does not respond in
   * time, DatabaseConflictError when its indexes conflict.
   */
  readonly services: () => Promise<Services>;
  /**
   * Throws UnavailableError when Kafka does not respond in time, or the embedded broker is not running.
   */
  readonly broker: () => Promise<Broker>;
}

/** Records a stored change in the audit log. */
type RecordChange = (event: AuditEvent) => void;

const connectTimeoutMs = 10_000;

export interface RunOptions {
  /** Changes the settings that the command works with. */
  readonly adjust?: (config: Config) => Config;
}

/**
 * Runs a command with the database and broker of the settings, or those of the embedded stack in the data
 * directory, and closes them afterwards. Throws ConfigurationError, and the errors of the command.
 */
export async function runWithContext<T>(
  work: (context: CommandContext) => Promise<T>,
  { adjust = (config) => config }: RunOptions = {},
): Promise<T> {
  const environment = readEnvironment(process.env);
  if (findServer({}, environment) !== undefined)
    throw new ConfigurationError(
      "this command works with the database and Kafka of the settings, not with a server: unset TOPICSYNC_SERVER to run it.",
    );
  const config = adjust(readConfig(environment));
  const log = await createLogger("warn", "stderr");
  const lifecycle = createLifecycle(log);
  try {
    return await runUntilStopped((abort) => work(createContext({ config, log, lifecycle, abort })));
  } finally {
    await lifecycle.stop();
  }
}

interface ContextOptions extends Pick<CommandContext, "config" | "log" | "abort"> {
  readonly lifecycle: Lifecycle;
}

function createContext(options: ContextOptions): CommandContext {
  const { config, log, abort } = options;
  let record: RecordChange | undefined;
  let broker: Promise<Broker> | undefined;
  let services: Promise<Services> | undefined;
  const context: CommandContext = {
    config,
    log,
    abort,
    audit: () => (record ??= openAudit(options)),
    services: () => (services ??= openServices({ ...options, broker: context.broker })),
    broker: () => (broker ??= openBroker(options)),
  };
  return context;
}

function openAudit({ config, log, lifecycle }: ContextOptions): RecordChange {
  // Nobody collects what a terminal shows, and there the command says in a sentence what it did.
  if (config.auditLog === "stdout" && process.stderr.isTTY) return () => undefined;
  const audit = openAuditLog(config.auditLog, log);
  lifecycle.onStop("audit", () => audit.close());
  const origin = { via: "cli", by: getSystemUser(), from: hostname() } as const;
  return (event) => {
    audit.record(event, origin);
  };
}

async function openDatabase({ config, log, lifecycle, abort }: ContextOptions): Promise<Database> {
  // Slow to load, and not every command needs it.
  const [{ resolveStore }, { createDatabase }] = await Promise.all([
    import("@topicsync/embedded"),
    import("../storage/database/database.ts"),
  ]);
  const uri = await resolveStore(config);
  const database = createDatabase(uri, log, config.mongodbUriFile);
  lifecycle.onStop("MongoDB", () => database.close());
  await connectInTime(`MongoDB at ${parseHosts(uri)}`, abort, (signal) => database.connect(signal));
  return database;
}

async function openServices(options: ContextOptions & Pick<CommandContext, "broker">): Promise<Services> {
  // Loaded while the database is being connected; not every command needs it.
  const [database, { createServices }, { createSampleReader }] = await Promise.all([
    openDatabase(options),
    import("../service/services.ts"),
    import("../service/event-sample.ts"),
  ]);
  return createServices({ ...options, database, readSample: createSampleReader(options) });
}

async function openBroker({ config, log, lifecycle, abort }: ContextOptions): Promise<Broker> {
  // Slow to load, and most commands do not need it.
  const [{ resolveBroker }, { createBroker }] = await Promise.all([
    import("@topicsync/embedded"),
    import("@topicsync/kafka/client"),
  ]);
  const brokers = await resolveBroker(config);
  const isEmbedded = config.kafka.brokers === undefined;
  const broker = createBroker({ ...config.kafka, brokers, isEmbedded }, log);
  lifecycle.onStop("Kafka", () => broker.close());
  await connectInTime(`Kafka at ${brokers.join(",")}`, abort, (signal) => broker.reach(signal));
  return broker;
}

async function connectInTime(
  target: string,
  abort: AbortSignal,
  connect: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const timeout = AbortSignal.timeout(connectTimeoutMs);
  try {
    await connect(AbortSignal.any([abort, timeout]));
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    const reason = timeout.aborted ? `within ${connectTimeoutMs / 1_000} s` : "before it was stopped";
    const message = `${target} did not respond ${reason}: ${getErrorMessage(error)}`;
    throw new UnavailableError(message, { cause: error });
  }
}

/** Returns the hosts of a connection string, without the credentials. */
const parseHosts = (uri: string): string => /^[^/]*\/\/(?:[^@/]*@)?([^/?]*)/.exec(uri)?.[1] ?? "its address";

function getSystemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user id may have no name.
    return String(process.getuid?.() ?? "unknown");
  }
}

/**
 * The author of changes on the command line: "cli:" and the user of the machine. HTTP user names contain no
 * colon.
 */
export const getCommandLineUser = (): string => `cli:${getSystemUser()}`;
