import { hostname } from "node:os";

import type { AuditEvent } from "../lib/audit.ts";
import { openAuditLog } from "../lib/audit-log.ts";
import { environmentWithFile, readConfig, type Config } from "../config.ts";
import { getErrorMessage, UnavailableError } from "../lib/errors.ts";
import type { Broker } from "../kafka/client.ts";
import { createLifecycle } from "../lib/lifecycle.ts";
import { createLogger, type Logger } from "../lib/logger.ts";
import { embeddedBroker, embeddedStore } from "../embedded/embedded.ts";
import { createDatabase, type Database } from "../storage/database.ts";
import { osUser } from "./os-user.ts";

/** What a command works with; each neighbour is connected when it is first asked for. */
export interface CommandContext {
  readonly config: Config;
  /** Goes to standard error: standard output is the command's answer. */
  readonly log: Logger;
  /**
   * Opens the audit, before anything is changed. What it gives records a change that the command made, as done by whoever
   * runs it. Throws a ConfigurationError when the audit cannot be written.
   */
  readonly audit: () => RecordChange;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly abort: AbortSignal;
  /** Throws UnavailableError when MongoDB does not answer within 10 s, DatabaseConflictError when its indexes conflict. */
  readonly database: () => Promise<Database>;
  /** Throws UnavailableError when Kafka does not answer within 10 s, or no embedded one runs where it is asked for. */
  readonly broker: () => Promise<Broker>;
}

/** Records a change that is stored. */
export type RecordChange = (event: AuditEvent) => void;

/** A command does not wait for ever. */
const maxWaitMs = 10_000;

/**
 * Gives a command the database and the broker of the settings, or those of the embedded stack that runs on its data
 * folder, and releases them after the work. Throws ConfigurationError, and whatever the work throws.
 */
export async function runCommand<T>(work: (connection: CommandContext) => Promise<T>): Promise<T> {
  const config = readConfig(environmentWithFile(process.env));
  const log = await createLogger("warn", "stderr");
  const lifecycle = createLifecycle(log);
  const abort = new AbortController();
  const interrupted = (): void => {
    abort.abort();
  };
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);

  async function openDatabase(): Promise<Database> {
    const uri = await embeddedStore({ config, log, lifecycle });
    const database = createDatabase(uri, log);
    lifecycle.onStop("MongoDB", () => database.close());
    await answerOf("MongoDB", hostsIn(uri), (signal) => database.connect(signal));
    return database;
  }

  async function openBroker(): Promise<Broker> {
    const brokers = await embeddedBroker({ config });
    // Most commands need no Kafka, and it takes a good part of their start.
    const { createBroker } = await import("../kafka/client.ts");
    const broker = createBroker({ ...config.kafka, brokers }, log);
    lifecycle.onStop("Kafka", () => broker.close());
    await answerOf("Kafka", brokers.join(","), (signal) => broker.reach(signal));
    return broker;
  }

  async function answerOf(
    what: string,
    address: string,
    connect: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const late = AbortSignal.timeout(maxWaitMs);
    try {
      await connect(AbortSignal.any([abort.signal, late]));
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      const reason = late.aborted ? `within ${maxWaitMs / 1_000} s` : "before it was stopped";
      throw new UnavailableError(
        `${what} at ${address} did not answer ${reason}: ${getErrorMessage(error)}`,
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
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
    // What still tries to connect must not keep the command from its end.
    abort.abort();
    await lifecycle.stop();
  }
}

/** The hosts of a connection string, without its credentials. */
const hostsIn = (uri: string): string => /^[^/]*\/\/(?:[^@/]*@)?([^/?]*)/.exec(uri)?.[1] ?? "its address";
