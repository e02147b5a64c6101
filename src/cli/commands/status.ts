import type { Command } from "commander";

import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { readEnvironment, readConfig, type Config, type ManagementConfig } from "../../config/config.ts";
import type { WatchedLog } from "../../../consumers/partition-status.ts";
import { createStatus, type StatusLimits } from "../../service/kafka/sync-status.ts";
import { runWithContext } from "../context.ts";
import { printError, printLine } from "../output/output.ts";
import { findAuthorization, findServer, toBasic } from "../input/server.ts";
import { askPassword } from "../input/password.ts";
import { printStatus } from "../output/status-text.ts";
import { queryService } from "./status-service.ts";

/** Longer than those of a service, because the connections have to be opened first, within 10 s. */
const limitsMs: StatusLimits = { positions: 11_000, log: 13_000, ages: 16_000 };

interface StatusFlags {
  readonly server?: string;
  readonly user?: string;
  readonly json?: true;
}

export function defineStatus(command: Command): void {
  command
    .option(
      "--server <url>",
      "ask this service, and not Kafka and MongoDB either; default: TOPICSYNC_SERVER, or that of HTTP_HOST and HTTP_PORT on this machine",
    )
    .option(
      "-u, --user <name>",
      "log in to the service as this user, with a password from the prompt or standard input; default: as TOPICSYNC_USER with TOPICSYNC_PASSWORD, or with the key or token TOPICSYNC_TOKEN",
    )
    .option("--json", "print JSON instead of a table")
    .addHelpText(
      "after",
      "\nExit codes: 0 the service is ready, 69 no service responds, 75 the service is not ready.",
    )
    .action(async ({ server, user, json }: StatusFlags) => {
      const named = findServer({ server }, readEnvironment(process.env));
      const servers = findServers(named);
      const service = await queryService({ ...servers, authorization: await getAuthorization(user) });
      const { note } = service;
      process.exitCode = service.exitCode;
      if (!json) printLine(note);
      if (service.status === undefined && named !== undefined) {
        if (json) printError(note);
        return;
      }
      const status = service.status ?? (await readStatus());
      const problems = service.status === undefined ? [note, ...status.problems] : status.problems;
      if (json) printLine(JSON.stringify({ ...status, problems }));
      else await printStatus(status);
    });
}

async function getAuthorization(user: string | undefined): Promise<string | undefined> {
  if (user === undefined) return findAuthorization(readEnvironment(process.env));
  return toBasic(user, await askPassword(`Password of ${user}`));
}

/** Where the API and the probes are. Throws ConfigurationError. */
function findServers(given: string | undefined) {
  const config = readConfig(readEnvironment(process.env));
  const certificate = given === undefined ? config.http.tls?.cert : undefined;
  const api = { url: (given ?? toUrl(config.http, config)).replace(/\/$/, ""), certificate };
  const { management } = config;
  return {
    api,
    probes: given === undefined && management ? { url: toUrl(management, config), certificate } : api,
  };
}

/** Reads the status from Kafka and MongoDB, which works when no service runs. */
const readStatus = (): Promise<SyncStatus> =>
  runWithContext(({ config, broker, services }) => {
    const { groupId, announcementsTopic: topic, pushFeedback, router } = config.kafka;
    // Connections are opened on use, so that if one of the two is down the rest is still reported.
    const watch = (
      read: { readonly topic: string; readonly groupId: string },
      findPositions: WatchedLog["store"]["findPositions"],
    ): WatchedLog => {
      const observer = async () => (await broker()).observe(read);
      return {
        group: read.groupId,
        topic: read.topic,
        observer: {
          fetchBounds: async (scope) => (await observer()).fetchBounds(scope),
          findFirstSince: async (timestamp, scope) => (await observer()).findFirstSince(timestamp, scope),
          fetchOwners: async () => (await observer()).fetchOwners(),
        },
        store: { findPositions },
        consumer: undefined,
      };
    };
    const findStored: WatchedLog["store"]["findPositions"] = async (...read) =>
      (await services()).topicStore.findPositions(...read);
    const getStatus = createStatus({
      announcements: watch({ topic, groupId }, findStored),
      pushFeedback: pushFeedback && watch(pushFeedback, findStored),
      tally: undefined,
      feedbackTally: undefined,
      router: router && {
        watched: watch(router, async () => (await broker()).fetchCommittedOffsets(router)),
        tally: undefined,
        getIndex: undefined,
        countBackfills: async () => (await services()).backfillStore.countRunning(),
      },
      limitsMs,
    });
    return getStatus();
  });

function toUrl({ host, port }: ManagementConfig, { http: { tls } }: Pick<Config, "http">): string {
  // A wildcard address is reachable on the loopback interface, which has no ::1 where IPv6 is switched off.
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `${tls === undefined ? "http" : "https"}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
