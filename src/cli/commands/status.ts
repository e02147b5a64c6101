import { once } from "node:events";
import { get as getOverHttp, type IncomingMessage } from "node:http";
import { get as getOverTls } from "node:https";
import { text } from "node:stream/consumers";

import type { Command } from "commander";

import { syncStatusSchema, type SyncStatus } from "../../../schemas/sync-status.ts";
import { readEnvironment, readConfig, type Config, type ManagementConfig } from "../../config.ts";
import { getErrorMessage } from "../../lib/errors.ts";
import type { WatchedLog } from "../../sync/partition-status.ts";
import { createStatus } from "../../sync/status.ts";
import { createValidator } from "../../lib/validation.ts";
import { runWithContext } from "../context.ts";
import { printLine } from "../output/output.ts";
import { tryParseJson } from "../input/files.ts";
import { askPassword } from "../input/password.ts";
import { printStatus } from "../output/status-text.ts";

const requestTimeoutMs = 10_000;
/** A group that was just formed may take seconds to answer on a busy machine. */
const queryTimeoutMs = 15_000;
const checkStatus = createValidator<SyncStatus>(syncStatusSchema);

export function defineStatus(command: Command): void {
  command
    .option("--url <url>", "URL of the service (default: from HTTP_HOST, HTTP_PORT and HTTP_TLS_CERT)")
    .option(
      "-u, --user <name>",
      "log in to the service as this user; prompts for the password, or reads it from standard input",
    )
    .option("--json", "print JSON instead of a table")
    .action(async ({ url: given, user, json }: { url?: string; user?: string; json?: true }) => {
      const config = readConfig(readEnvironment(process.env));
      const certificate = given === undefined ? config.http.tls?.cert : undefined;
      const api = { url: (given ?? toUrl(config.http, config)).replace(/\/$/, ""), certificate };
      const { management } = config;
      const probes =
        given === undefined && management ? { url: toUrl(management, config), certificate } : api;
      const credentials =
        user === undefined ? undefined : { user, password: await askPassword(`Password of ${user}`) };
      const service = await queryService({ api, probes }, credentials);
      const status = service.status ?? (await readStatus());
      if (json) printLine(JSON.stringify(service.status === undefined ? withNote(status, service) : status));
      else await printStatus(status, service);
    });
}

/** The response of a running service. */
export interface ServiceResponse {
  /** A sentence about the service itself. */
  readonly note: string;
  /** Undefined if the service did not return it. */
  readonly status: SyncStatus | undefined;
}

interface Server {
  readonly url: string;
  /**
   * PEM. Trusted under any name, since it is the service's own. Undefined: this machine's authorities are
   * trusted.
   */
  readonly certificate: string | undefined;
}

/** Where the API and the probes are. */
interface Servers {
  readonly api: Server;
  readonly probes: Server;
}

interface Credentials {
  readonly user: string;
  readonly password: string;
}

async function queryService(
  { api, probes }: Servers,
  credentials: Credentials | undefined,
): Promise<ServiceResponse> {
  const { url } = api;
  try {
    const readiness = await getReadiness(probes, credentials);
    const state =
      readiness.status === 404
        ? "running, with its probes at MANAGEMENT_PORT"
        : formatReadiness(readiness.json);
    const note = `The service at ${url} is ${state}.`;
    if (credentials === undefined)
      return { note: `${note} Its counts require a login: see --user.`, status: undefined };
    const { status, json } = await get(api, "/api/topicsync/v1/sync", credentials);
    if (status === 200) {
      const checked = checkStatus(json);
      if (checked.ok) return { note, status: checked.value };
    }
    return {
      note: `${note} It responded with ${status} to the user ${credentials.user}.`,
      status: undefined,
    };
  } catch (error) {
    return { note: `No service responds at ${url} (${getReason(error)}).`, status: undefined };
  }
}

/** Asks with credentials only for the reasons, so that the state is known even if they are rejected. */
async function getReadiness(server: Server, credentials: Credentials | undefined) {
  const readiness = await get(server, "/readyz");
  if (credentials === undefined || readiness.status === 200) return readiness;
  const detailed = await get(server, "/readyz", credentials);
  return detailed.status === 401 || detailed.status === 429 ? readiness : detailed;
}

async function get({ url, certificate }: Server, path: string, as?: Credentials) {
  const options = {
    agent: false,
    signal: AbortSignal.timeout(requestTimeoutMs),
    headers: as && { Authorization: `Basic ${Buffer.from(`${as.user}:${as.password}`).toString("base64")}` },
  };
  const ownCertificate = certificate && {
    ca: certificate,
    // It need not be self-signed.
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  };
  const request = url.startsWith("https:")
    ? getOverTls(`${url}${path}`, { ...options, ...ownCertificate })
    : getOverHttp(`${url}${path}`, options);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, json: tryParseJson(await text(response)) };
}

function formatReadiness(json: unknown): string {
  const { status = "in an unknown state", checks = {} } = (json ?? {}) as {
    status?: string;
    checks?: Record<string, { ok?: boolean; reason?: string }>;
  };
  const failing = Object.entries(checks).filter(([, { ok }]) => ok === false);
  const reasons = failing.map(([name, { reason }]) => `${name}: ${reason ?? "not working"}`);
  return reasons.length === 0 ? status : `${status} (${reasons.join("; ")})`;
}

/** After a timeout the error is "The operation was aborted"; its cause has the reason. */
const getReason = (error: unknown): string =>
  getErrorMessage(error instanceof Error && error.cause instanceof Error ? error.cause : error);

/** Reads the status from Kafka and MongoDB, which works when no service runs. */
const readStatus = (): Promise<SyncStatus> =>
  runWithContext(async ({ config, broker, services }) => {
    const { groupId, announcementsTopic, pushFeedback, router } = config.kafka;
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
          findPositions: async (group, topic) => (await services()).topicStore.findPositions(group, topic),
        },
        consumer: undefined,
      };
    };
    return createStatus({
      announcements: toWatchedLog({ topic: announcementsTopic, groupId }),
      pushFeedback: pushFeedback && toWatchedLog(pushFeedback),
      tally: undefined,
      feedbackTally: undefined,
      queryTimeoutMs,
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
    })();
  });

const withNote = (status: SyncStatus, { note }: ServiceResponse): SyncStatus => ({
  ...status,
  problems: [note, ...status.problems],
});

function toUrl({ host, port }: ManagementConfig, { http: { tls } }: Pick<Config, "http">): string {
  // A wildcard address is reachable on the loopback interface, which has no ::1 where IPv6 is switched off.
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `${tls === undefined ? "http" : "https"}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
