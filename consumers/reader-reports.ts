/** What a reader says of itself, in its status and in the log. */

import { ConfigurationError, getErrorMessage, NotLoadedError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { OtherClusterError } from "./clusters.ts";
import type { ReaderStatus } from "./partition-status.ts";
import { outsideGroup, toPauseCause, type Mode } from "./reader-types.ts";

/** What the status says of a reader in this mode. Outside of its group it is given nothing to read. */
export function toState(mode: Mode, isInGroup: boolean): Pick<ReaderStatus, "state" | "reason" | "cause"> {
  if (mode.kind !== "reading") return { state: "paused", reason: mode.reason, cause: mode.cause };
  if (!isInGroup) return { state: "paused", reason: outsideGroup, cause: "outage" };
  return { state: "reading", reason: undefined, cause: undefined };
}

/** Logs why a partition could not be claimed. */
export function logFailedClaim(error: unknown, wasElsewhere: boolean, log: Logger): void {
  const reason = getErrorMessage(error);
  if (error instanceof OtherClusterError) {
    // A person decides, which may take hours.
    if (!wasElsewhere)
      log.error({ reason }, "partition paused: its position belongs to another kafka cluster");
  } else if (toPauseCause(error) === "error" && !(error instanceof ConfigurationError))
    log.error({ err: error }, "partition paused by an unexpected error");
  // Usual after a start with many topics, or on a busy machine.
  else if (error instanceof NotLoadedError) log.info({ reason }, "partition waits until topics are loaded");
  else log.warn({ reason }, "partition paused");
}

/** Logs why a batch was not written. */
export function logFailedWrite(error: unknown, log: Logger): void {
  const cause = toPauseCause(error);
  if (cause === undefined)
    log.warn({ reason: getErrorMessage(error) }, "position moved by another consumer, looking it up again");
  else if (cause === "error") log.error({ err: error }, "batch failed with an unexpected error, retrying");
  else log.warn({ err: error }, "batch write failed, retrying");
}
