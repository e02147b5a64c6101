import kafkajs, { type LogEntry } from "kafkajs";
import { LRUCache } from "lru-cache";

import { getErrorMessage } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";

interface LibraryLogOptions {
  readonly brokers: readonly string[];
  /** Warnings that follow from closing the connections are not shown. */
  readonly isClosed: () => boolean;
  readonly log: Logger;
}

/** While Kafka does not respond, each client repeats the same warnings every second. */
const repetitionMs = 10 * 60_000;
const maxRemembered = 1_000;

/**
 * Creates the logger of kafkajs. Its errors and warnings become warnings, the first time within ten minutes;
 * everything else is logged at "debug".
 */
export function createLibraryLog({ brokers, isClosed, log }: LibraryLogOptions): (entry: LogEntry) => void {
  const seen = new LRUCache<string, true>({ max: maxRemembered, ttl: repetitionMs });

  function isRepeated(text: string): boolean {
    // The numbers are ports, attempts, times and ids.
    const words = text.replaceAll(/\d+/g, "#");
    const isKnown = seen.has(words);
    if (!isKnown) seen.set(words, true);
    return isKnown;
  }

  return ({ level, namespace, log: entry }) => {
    const message = getMessage(entry);
    const rest: Readonly<Record<string, unknown>> = { ...entry };
    const details = {
      kafkajs: namespace,
      reason: rest["error"],
      groupId: rest["groupId"],
      broker: rest["broker"],
    };
    const isWarning = level === kafkajs.logLevel.ERROR || level === kafkajs.logLevel.WARN;
    const isOwnLine =
      isClosed() || namespace === "Connection" || isRoutine(message) || isLoggedByUs(message, brokers);
    if (isWarning && !isOwnLine && !isRepeated(`${namespace} ${message}`))
      log.warn(details, `kafkajs: ${message}`);
    else log.debug(details, `kafkajs: ${message}`);
  };
}

/**
 * "Connection" logs each retriable response, "BrokerPool" each attempt to connect. With a single broker, our
 * own log line has the reason.
 */
const isLoggedByUs = (message: string, { length }: readonly string[]): boolean =>
  length === 1 && message.startsWith("Failed to connect to seed broker");

/** A broker that has just started loads its groups; a restart is logged after its reason. */
const isRoutine = (message: string): boolean =>
  message.startsWith("Restarting the consumer in ") ||
  message.includes("The coordinator is loading and hence can't process requests");

/** In places, kafkajs logs the error itself instead of its message. */
const getMessage = ({ message }: { readonly message: unknown }): string =>
  typeof message === "string" ? message : getErrorMessage(message);
