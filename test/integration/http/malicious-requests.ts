/** A service for malicious requests, which must survive each of them. */
import assert from "node:assert/strict";
import { afterEach } from "node:test";

import { call, type HttpResponse, type Call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { useService } from "../../support/scene.ts";

export const service = useService({ PUSH_APPLICATIONS: "App", PUSH_PLATFORMS: "ios" });

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

/** The service still accepts a valid request and has logged no error. */
afterEach(async () => {
  assert.equal((await send(register, { platform: "ios", token: unique("token") })).status, 200);
  assert.deepEqual(
    service.log.filter(({ level }) => level >= 50),
    [],
  );
});

export const getFaultPaths = ({ json }: HttpResponse): string[] =>
  (json.error.details as { path: string }[]).map(({ path }) => path);
