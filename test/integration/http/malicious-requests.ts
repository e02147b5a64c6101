/** Malicious requests, which the service must survive. */
import assert from "node:assert/strict";

import { call, type HttpResponse, type Call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import type { LogLine } from "../../support/service.ts";
import { service } from "../../support/shared-service.ts";

export const register = "/api/now/push/App/installation";
export const remove = "/api/now/push/App/removeInstallation";
export const topic = "/api/svc_api_notif_mgmt/topic";
export const pick = "/api/svc_api_notif_mgmt/topic/pick";

export const request = (path: string, options: Call): Promise<HttpResponse> =>
  call(`${service.url}${path}`, options);
export const send = (path: string, body: unknown): Promise<HttpResponse> => request(path, { body });
export const sendBytes = (
  path: string,
  body: Uint8Array,
  headers: Record<string, string> = {},
): Promise<HttpResponse> =>
  request(path, { body, headers: { "Content-Type": "application/json", ...headers } });

/** Asserts that the service still accepts a valid request and has logged no error. */
export async function assertIntact(log: readonly LogLine[]): Promise<void> {
  assert.equal((await send(register, { platform: "ios", token: unique("token") })).status, 200);
  assert.deepEqual(
    log.filter(({ level }) => level >= 50),
    [],
  );
}

export const getFaultPaths = ({ json }: HttpResponse): string[] =>
  (json.error.details as { path: string }[]).map(({ path }) => path);
