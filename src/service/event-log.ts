import type { KafkaConfig } from "@topicsync/kafka";
import { createEventLog, type EventLog, type EventLogOptions } from "../../consumers/event-log/event-log.ts";
import type { Services } from "./services.ts";

/** Opens the events topic for reading; undefined if none is configured. */
export function openEventLog(
  { router, maxEventBytes }: KafkaConfig,
  {
    findReplayKey,
    connect,
    abort,
  }: Pick<Services, "findReplayKey"> & Pick<EventLogOptions, "connect" | "abort">,
): EventLog | undefined {
  return router && createEventLog({ ...router, maxEventBytes, findProofKey: findReplayKey, connect, abort });
}
