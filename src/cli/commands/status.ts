import type { Command } from "commander";

import { syncStatusSchema, type SyncStatus } from "../../../schemas/sync-status.ts";
import { environmentWithFile, readConfig, type Config } from "../../config.ts";
import { getErrorMessage } from "../../lib/errors.ts";
import { createPositions } from "../../storage/positions.ts";
import type { WatchedLog } from "../../sync/partition-status.ts";
import { createStatus } from "../../sync/status.ts";
import { createValidator } from "../../lib/validation.ts";
import { runCommand } from "../context.ts";
import { printLine } from "../output/output.ts";
import { askPassword } from "../input/password.ts";
import { printStatus } from "../output/status-text.ts";

const patienceMs = 10_000;
const checkStatus = createValidator<SyncStatus>(syncStatusSchema);

/** Adds `topicsync status`. */
export function addStatusCommand(program: Command): void {
  program
    .command("status")
    .description(
      "tell where the sync stands: from a running service, or else from Kafka and MongoDB themselves",
    )
    .option("--url <url>", "where the service listens (default: HTTP_HOST and HTTP_PORT)")
    .option(
      "-u, --user <name>",
      "ask the service as this user; the password is asked for, or read from standard input (default: BOOTSTRAP_USER)",
    )
    .option("--json", "print JSON instead of a table")
    .action(async ({ url: given, user, json }: { url?: string; user?: string; json?: true }) => {
      const config = readConfig(environmentWithFile(process.env));
      const url = (given ?? urlOf(config.http)).replace(/\/$/, "");
      const credentials =
        user === undefined ? config.bootstrap : { user, password: await askPassword(`Password of ${user}`) };
      const service = await askService(url, credentials);
      const status = service.status ?? (await lookDirectly());
      if (json) printLine(JSON.stringify(service.status === undefined ? withNote(status, service) : status));
      else await printStatus(status, service);
    });
}

/** What a running service said. */
export interface ServiceAnswer {
  /** What is to be known of the service itself, in a sentence. */
  readonly note: string;
  /** Undefined when it did not tell. */
  readonly status: SyncStatus | undefined;
}

type Credentials = NonNullable<Config["bootstrap"]>;

async function askService(url: string, credentials: Credentials | undefined): Promise<ServiceAnswer> {
  try {
    const readiness = await get(`${url}/readyz`);
    const note = `The service at ${url} is ${readinessOf(readiness.json)}.`;
    if (credentials === undefined)
      return { note: `${note} Its counts are told to users only: see --user.`, status: undefined };
    const { status, json } = await get(`${url}/api/topicsync/v1/sync`, credentials);
    if (status === 200) {
      const checked = checkStatus(json);
      if (checked.ok) return { note, status: checked.value };
    }
    return { note: `${note} It answered ${status} to the user ${credentials.user}.`, status: undefined };
  } catch (error) {
    return { note: `No service answers at ${url} (${reasonOf(error)}).`, status: undefined };
  }
}

async function get(url: string, as?: Credentials): Promise<{ status: number; json: unknown }> {
  const Authorization = as && `Basic ${Buffer.from(`${as.user}:${as.password}`).toString("base64")}`;
  const response = await fetch(url, {
    signal: AbortSignal.timeout(patienceMs),
    ...(Authorization === undefined ? {} : { headers: { Authorization } }),
  });
  return { status: response.status, json: await response.json().catch(() => undefined) };
}

function readinessOf(json: unknown): string {
  const { status = "of another kind", checks = {} } = (json ?? {}) as {
    status?: string;
    checks?: Record<string, { ok?: boolean; reason?: string }>;
  };
  const failing = Object.entries(checks).filter(([, { ok }]) => ok === false);
  const reasons = failing.map(([name, { reason }]) => `${name}: ${reason ?? "does not work"}`);
  return reasons.length === 0 ? status : `${status} (${reasons.join("; ")})`;
}

/** `fetch failed` says nothing; its cause does. */
const reasonOf = (error: unknown): string =>
  getErrorMessage(error instanceof Error && error.cause instanceof Error ? error.cause : error);

/** Where the sync stands, as Kafka and MongoDB tell: known also when no service runs. */
const lookDirectly = (): Promise<SyncStatus> =>
  runCommand(async ({ config, broker, database, log }) => {
    const { groupId, announcementsTopic, pushFeedback } = config.kafka;
    // Connected when asked: what one of the two cannot tell is missing in the answer, the rest is told all the same.
    const logOf = (read: { readonly topic: string; readonly groupId: string }): WatchedLog => {
      const watched = async () => (await broker()).observe(read);
      return {
        group: read.groupId,
        topic: read.topic,
        observer: {
          bounds: async () => (await watched()).bounds(),
          firstSince: async (timestamp) => (await watched()).firstSince(timestamp),
          owners: async () => (await watched()).owners(),
        },
        store: {
          positions: async (group, topic) =>
            createPositions(await database(), { log }).positions(group, topic),
        },
        consumer: undefined,
      };
    };
    return createStatus({
      announcements: logOf({ topic: announcementsTopic, groupId }),
      pushFeedback: pushFeedback && logOf(pushFeedback),
      tally: undefined,
      feedbackTally: undefined,
    })();
  });

const withNote = (status: SyncStatus, { note }: ServiceAnswer): SyncStatus => ({
  ...status,
  problems: [note, ...status.problems],
});

function urlOf({ host, port }: Config["http"]): string {
  // Where it listens on every address, any of them will do.
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
