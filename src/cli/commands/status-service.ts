import { once } from "node:events";
import { get as getOverHttp, type IncomingMessage, type RequestOptions } from "node:http";
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
interface ServiceResponse {
  /** A sentence about the service itself. */
  readonly note: string;
  /** Undefined if the service did not return it. */
  readonly status: SyncStatus | undefined;
  /** What the note says, as the exit code of the command. */
  readonly exitCode: number;
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
  const signal = AbortSignal.timeout(requestTimeoutMs);
  const ask = (server: Server, path: string, Authorization?: string): Promise<Answer> =>
    get(server, path, { signal, headers: Authorization === undefined ? {} : { Authorization } }).catch(
      getReason,
    );
  // Asked with credentials only for the reasons, so that the state is known even if they are rejected.
  const [plain, detailed, sync] = await Promise.all([
    ask(probes, "/readyz"),
    authorization === undefined ? undefined : ask(probes, "/readyz", authorization),
    authorization === undefined ? undefined : ask(api, "/api/topicsync/v1/sync", authorization),
  ]);
  if (typeof plain === "string" && typeof sync !== "object")
    return {
      note: `No service responds at ${api.url} (${plain}).`,
      status: undefined,
      exitCode: exitCodes.unavailable,
    };
  const isDetailed = typeof detailed === "object" && detailed.code !== 401 && detailed.code !== 429;
  const { state, exitCode } = describeReadiness(isDetailed ? detailed : plain);
  const checked = typeof sync === "object" && sync.code === 200 ? checkStatus(sync.json) : undefined;
  const status = checked?.ok ? checked.value : undefined;
  const note = `The service at ${api.url} is ${state}.`;
  return { note: status ? note : `${note} ${describeMissing(sync)}`, status, exitCode };
}

/** A response, or why there is none. */
type Answer = { readonly code: number; readonly json: unknown } | string;

async function get({ url, certificate }: Server, path: string, given: RequestOptions): Promise<Answer> {
  const options = { ...given, agent: false };
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

function describeReadiness(readiness: Answer): { readonly state: string; readonly exitCode: number } {
  if (typeof readiness === "string")
    return { state: `in an unknown state (${readiness})`, exitCode: exitCodes.notReady };
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

/** Why there is no status. */
function describeMissing(sync: Answer | undefined): string {
  if (sync === undefined) return "Its counts require a login: see --user.";
  return typeof sync === "string"
    ? `It did not send its status (${sync}).`
    : `It responded with ${sync.code} to these credentials.`;
}
