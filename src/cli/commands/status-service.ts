import { once } from "node:events";
import { get as getOverHttp, type IncomingMessage } from "node:http";
import { get as getOverTls } from "node:https";
import { text } from "node:stream/consumers";

import { exitCodes, getErrorMessage } from "@topicsync/lib/errors";
import { createValidator } from "@topicsync/lib/validation";
import { syncStatusSchema, type SyncStatus } from "../../../schemas/sync-status.ts";
import { tryParseJson } from "../input/files.ts";

/** A service responds within 3 s, whatever hangs, but its machine may be busy. */
const requestTimeoutMs = 10_000;
const checkStatus = createValidator<SyncStatus>(syncStatusSchema);

/** The response of a running service. */
export interface ServiceResponse {
  /** A sentence about the service itself. */
  readonly note: string;
  /** Undefined if the service did not return it. */
  readonly status: SyncStatus | undefined;
  /** What the note says, as the exit code of the command. */
  readonly exitCode: number;
  /** The service responds, but waits for something to send its status. */
  readonly isLate: boolean;
}

interface Server {
  readonly url: string;
  /**
   * PEM. Trusted under any name, since it is the service's own. Undefined: this machine's authorities are
   * trusted.
   */
  readonly certificate: string | undefined;
}

/** Where the API and the probes are, and the `Authorization` header if there are credentials. */
interface AskedService {
  readonly api: Server;
  readonly probes: Server;
  readonly authorization: string | undefined;
}

/** Asks a service for its readiness and its status at the same time. Never throws. */
export async function queryService({ api, probes, authorization }: AskedService): Promise<ServiceResponse> {
  const late = AbortSignal.timeout(requestTimeoutMs);
  const [readiness, sync] = await Promise.all([
    settle(getReadiness(probes, authorization, late)),
    authorization === undefined
      ? undefined
      : settle(get({ server: api, path: "/api/topicsync/v1/sync", authorization, late })),
  ]);
  if ("reason" in readiness && (sync === undefined || "reason" in sync)) {
    const note = `No service responds at ${api.url} (${readiness.reason}).`;
    return { note, status: undefined, exitCode: exitCodes.unavailable, isLate: false };
  }
  const { state, exitCode } = describeReadiness(readiness);
  const seen = describeStatus(sync);
  return {
    note: [`The service at ${api.url} is ${state}.`, ...seen.sentences].join(" "),
    status: seen.status,
    exitCode,
    isLate: sync !== undefined && "reason" in sync,
  };
}

interface Response {
  readonly code: number;
  readonly json: unknown;
}

/** A response, or why there is none. */
type Settled = Response | { readonly reason: string };

const settle = (response: Promise<Response>): Promise<Settled> =>
  response.catch((error: unknown) => ({ reason: getReason(error) }));

/** Asks with credentials only for the reasons, so that the state is known even if they are rejected. */
async function getReadiness(
  server: Server,
  authorization: string | undefined,
  late: AbortSignal,
): Promise<Response> {
  const path = "/readyz";
  const plain = get({ server, path, late });
  if (authorization === undefined) return plain;
  const detailed = get({ server, path, authorization, late }).catch(() => undefined);
  const readiness = await plain;
  const found = readiness.code === 200 ? undefined : await detailed;
  return found === undefined || found.code === 401 || found.code === 429 ? readiness : found;
}

interface Request {
  readonly server: Server;
  readonly path: string;
  readonly authorization?: string;
  readonly late: AbortSignal;
}

async function get({ server: { url, certificate }, path, authorization, late }: Request): Promise<Response> {
  const options = {
    agent: false,
    signal: late,
    headers: authorization === undefined ? {} : { Authorization: authorization },
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
  return { code: response.statusCode ?? 0, json: tryParseJson(await text(response)) };
}

/** After a timeout the error is "The operation was aborted"; its cause has the reason. */
const getReason = (error: unknown): string =>
  getErrorMessage(error instanceof Error && error.cause instanceof Error ? error.cause : error);

function describeReadiness(readiness: Settled): { readonly state: string; readonly exitCode: number } {
  if ("reason" in readiness)
    return { state: `in an unknown state (${readiness.reason})`, exitCode: exitCodes.notReady };
  if (readiness.code === 404)
    return { state: "running, with its probes at MANAGEMENT_PORT", exitCode: exitCodes.ok };
  const exitCode = readiness.code === 200 ? exitCodes.ok : exitCodes.notReady;
  return { state: formatReadiness(readiness.json), exitCode };
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

interface SeenStatus {
  readonly status: SyncStatus | undefined;
  readonly sentences: readonly string[];
}

/** The status in a response, or why there is none. */
function describeStatus(sync: Settled | undefined): SeenStatus {
  const without = (sentence: string): SeenStatus => ({ status: undefined, sentences: [sentence] });
  if (sync === undefined) return without("Its counts require a login: see --user.");
  if ("reason" in sync) return without(`It did not send its status (${sync.reason}).`);
  const checked = sync.code === 200 ? checkStatus(sync.json) : undefined;
  if (checked?.ok) return { status: checked.value, sentences: [] };
  return without(`It responded with ${sync.code} to these credentials.`);
}
