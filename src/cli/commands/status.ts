import type { Command } from "commander";

import { UnavailableError } from "@topicsync/lib/errors";
import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { readEnvironment, readConfig, type Config, type ManagementConfig } from "../../config/config.ts";
import type { WatchedLog } from "../../../consumers/partition-status.ts";
import { createStatus, type StatusLimits } from "../../service/kafka/sync-status.ts";
import { findServer } from "../input/server.ts";
import { runWithContext } from "../context.ts";
import { printError, printLine } from "../output/output.ts";
import { findAuthorization, toBasic } from "../input/credentials.ts";
import { askPassword } from "../input/password.ts";
import { printStatus } from "../output/status-text.ts";
import { queryService, type ServiceResponse } from "./status-service.ts";

/** Longer than those of a service, because the connections have to be opened first. */
const limitsMs: StatusLimits = { positions: 10_000, log: 12_000, ages: 15_000 };
/** Shorter than the first step, whose problem would otherwise not have the reason. */
const connectTimeoutMs = 9_000;

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
      const authorization = await getAuthorization(user);
      const print = async (service: ServiceResponse, status: SyncStatus | Promise<SyncStatus>) => {
        if (json) {
          printStatusJson(service, await status);
          return;
        }
        // Reading Kafka and MongoDB takes longer than asking the service.
        printLine(service.note);
        await printStatus(await status);
      };
      const answer = queryService({ ...servers, authorization });
      if (named !== undefined) {
        const service = await answer;
        if (service.status !== undefined) await print(service, service.status);
        else if (json) printError(service.note);
        else printLine(service.note);
        process.exitCode = service.exitCode;
        return;
      }
      // Without credentials only Kafka and MongoDB can tell, so they are asked at the same time.
      const early = authorization === undefined ? undefined : await answer;
      if (early?.status !== undefined) await print(early, early.status);
      else await readStatus(async (status) => print(await answer, status), early?.isLate);
      const service = await answer;
      process.exitCode = service.exitCode;
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

function printStatusJson({ note, status: own }: ServiceResponse, status: SyncStatus): void {
  const problems = own === undefined ? [note, ...status.problems] : status.problems;
  printLine(JSON.stringify({ ...status, problems }));
}

/**
 * Reads the status from Kafka and MongoDB, which works when no service runs. `use` gets it before the
 * connections are closed.
 *
 * @param isLate - The service waits for one of them, so nothing is asked.
 */
const readStatus = (use: (status: Promise<SyncStatus>) => Promise<void>, isLate = false): Promise<void> =>
  runWithContext(
    async ({ config, broker: connectBroker, services }) => {
      const { groupId, announcementsTopic, pushFeedback, router } = config.kafka;
      const requireAsked = (): void => {
        if (isLate) throw new UnavailableError("not read, because the service did not respond in time");
      };
      const broker = async () => {
        requireAsked();
        return connectBroker();
      };
      // Connections are opened on use, so that if one of the two is down the rest is still reported.
      const toWatchedLog = (read: { readonly topic: string; readonly groupId: string }): WatchedLog => {
        const watched = async () => (await broker()).observe(read);
        return {
          group: read.groupId,
          topic: read.topic,
          observer: {
            fetchBounds: async (scope) => (await watched()).fetchBounds(scope),
            findFirstSince: async (timestamp, scope) => (await watched()).findFirstSince(timestamp, scope),
            fetchOwners: async () => (await watched()).fetchOwners(),
          },
          store: {
            async findPositions(group, topic) {
              requireAsked();
              return (await services()).topicStore.findPositions(group, topic);
            },
          },
          consumer: undefined,
        };
      };
      const getStatus = createStatus({
        announcements: toWatchedLog({ topic: announcementsTopic, groupId }),
        pushFeedback: pushFeedback && toWatchedLog(pushFeedback),
        tally: undefined,
        feedbackTally: undefined,
        router: router && {
          watched: {
            ...toWatchedLog(router),
            store: {
              findPositions: async (group, topic) =>
                (await broker()).fetchCommittedOffsets({ groupId: group, topic }),
            },
          },
          tally: undefined,
          getIndex: undefined,
        },
        limitsMs,
      });
      await use(getStatus());
    },
    { connectTimeoutMs },
  );

function toUrl({ host, port }: ManagementConfig, { http: { tls } }: Pick<Config, "http">): string {
  // A wildcard address is reachable on the loopback interface, which has no ::1 where IPv6 is switched off.
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `${tls === undefined ? "http" : "https"}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
