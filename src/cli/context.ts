import { hostname, userInfo } from "node:os";

import type { AuditEvent } from "../lib/audit.ts";
import { openAuditLog } from "../lib/audit-log.ts";
import { readEnvironment, readConfig, type Config } from "../config.ts";
import { getErrorMessage, UnavailableError } from "../lib/errors.ts";
import type { Broker } from "../kafka/client.ts";
import { createLifecycle } from "../lib/lifecycle.ts";
import { createLogger, type Logger } from "../lib/logger.ts";
import { resolveBroker, resolveStore } from "../embedded/embedded.ts";
import { createDatabase, type Database } from "../storage/database.ts";

/** What a command works with. Database and broker are connected on first use. */
export interface CommandContext {
  readonly config: Config;
  /** Writes to standard error; standard output is for the result. */
  readonly log: Logger;
  /**
   * Opens the audit log, to be called before any change. Returns a function that records a change as made by the user of
   * the machine. Throws a ConfigurationError when the log cannot be written.
   */
  readonly audit: () => RecordChange;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly abort: AbortSignal;
  /** Throws UnavailableError when MongoDB does not respond within 10 s, DatabaseConflictError when its indexes conflict. */
  readonly database: () => Promise<Database>;
  /** Throws UnavailableError when Kafka does not respond within 10 s, or the embedded broker is not running. */
  readonly broker: () => Promise<Broker>;
}

/** Records a stored change in the audit log. */
export type RecordChange = (event: AuditEvent) => void;

const connectTimeoutMs = 10_000;

/**
 * Runs a command with the database and broker of the settings, or those of the embedded stack in the data directory, and
 * closes them afterwards. Throws ConfigurationError, and the errors of the command.
 */
export async function runCommand<T>(work: (connection: CommandContext) => Promise<T>): Promise<T> {
  const config = readConfig(readEnvironment(process.env));
  const log = await createLogger("warn", "stderr");
  const lifecycle = createLifecycle(log);
  const abort = new AbortController();
  const onSignal = (): void => {
    abort.abort();
  };
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);

  async function openDatabase(): Promise<Database> {
    const uri = await resolveStore({ config, log, lifecycle });
    const database = createDatabase(uri, log);
    lifecycle.onStop("MongoDB", () => database.close());
    await connectInTime("MongoDB", parseHosts(uri), (signal) => database.connect(signal));
    return database;
  }

  async function openBroker(): Promise<Broker> {
    const brokers = await resolveBroker({ config });
    // Slow to load, and most commands do not need it.
    const { createBroker } = await import("../kafka/client.ts");
    const broker = createBroker({ ...config.kafka, brokers }, log);
    lifecycle.onStop("Kafka", () => broker.close());
    await connectInTime("Kafka", brokers.join(","), (signal) => broker.reach(signal));
    return broker;
  }

  async function connectInTime(
    what: string,
    address: string,
    connect: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const timeout = AbortSignal.timeout(connectTimeoutMs);
    try {
      await connect(AbortSignal.any([abort.signal, timeout]));
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      const reason = timeout.aborted ? `within ${connectTimeoutMs / 1_000} s` : "before it was stopped";
      throw new UnavailableError(
        `${what} at ${address} did not respond ${reason}: ${getErrorMessage(error)}`,
        {
          cause: error,
        },
      );
    }
  }

  function openAudit(): RecordChange {
    const audit = openAuditLog(config.auditLog, log);
    lifecycle.onStop("audit", () => audit.close());
    const origin = { via: "cli", by: osUser(), from: hostname() } as const;
    return (event) => {
      audit.record(event, origin);
    };
  }

  let record: RecordChange | undefined;
  let database: Promise<Database> | undefined;
  let broker: Promise<Broker> | undefined;
  try {
    return await work({
      config,
      log,
      audit: () => (record ??= openAudit()),
      abort: abort.signal,
      database: () => (database ??= openDatabase()),
      broker: () => (broker ??= openBroker()),
    });
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
    // Pending connection attempts must not delay the exit.
    abort.abort();
    await lifecycle.stop();
  }
}

/** Returns the hosts of a connection string, without the credentials. */
const parseHosts = (uri: string): string => /^[^/]*\/\/(?:[^@/]*@)?([^/?]*)/.exec(uri)?.[1] ?? "its address";

/** The user of the machine. */
function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user id may have no name.
    return String(process.getuid?.() ?? "unknown");
  }
}

/** The author of changes on the command line: "cli:" and the user of the machine. HTTP user names contain no colon. */
export const commandLineUser = (): string => `cli:${osUser()}`;
