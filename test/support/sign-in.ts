/** Signing in with OpenID, as a browser does it. */
import assert from "node:assert/strict";

import { call, type HttpResponse } from "./http.ts";
import { goodCode, type Issuer } from "./issuer.ts";
import { keepSecret } from "./secrets.ts";

export const publicUrl = "https://topicsync.example.org";
export const clientId = "topicsync-console";
export const path = "/api/topicsync/v1/session";

/** A browser that was redirected to the provider: its cookie, and the parameters of the redirect. */
export interface Sent {
  readonly cookie: string;
  readonly asked: URLSearchParams;
}

export interface Return {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly response?: Readonly<Record<string, string>>;
}

export const get = (url: string, cookie?: string): Promise<HttpResponse> =>
  call(url, { method: "GET", as: undefined, headers: cookie === undefined ? {} : { Cookie: cookie } });

export async function beginSignIn({ url }: { readonly url: string }): Promise<Sent> {
  const response = await get(`${url}${path}/openid`);
  assert.equal(response.status, 302);
  const [cookie = ""] = (response.headers.get("set-cookie") ?? "").split(";", 1);
  const asked = new URL(response.headers.get("location") ?? "").searchParams;
  keepSecret(cookie.split("=")[1]);
  return { cookie, asked };
}

/** Returns from the provider, which exchanges the code for an ID token with these claims and the nonce. */
export function returnFromProvider(
  { url }: { readonly url: string },
  issuer: Issuer,
  { cookie, asked }: Sent,
  { claims = {}, header = {}, response = {} }: Return = {},
): Promise<HttpResponse> {
  issuer.setCodeToken({ aud: clientId, nonce: asked.get("nonce"), ...claims }, header);
  const good = { code: goodCode, state: asked.get("state") ?? "", iss: issuer.url };
  const query = new URLSearchParams({ ...good, ...response }).toString();
  return get(`${url}${path}/openid/callback?${query}`, cookie);
}

/** Name and secret of the client in the last exchange, which are form-encoded (RFC 6749, section 2.3.1). */
export function getLastCredentials(issuer: Issuer): (string | null)[] {
  const { authorization } = issuer.getLastExchange();
  const credentials = Buffer.from(authorization.replace("Basic ", ""), "base64").toString().split(":");
  return credentials.map((one) => new URLSearchParams(`one=${one}`).get("one"));
}

export const findSessionCookie = (response: HttpResponse): string =>
  response.headers.getSetCookie().find((one) => one.startsWith("__Host-topicsync_session=")) ?? "";

/** Asserts that nobody is signed in and that the redirect names the reason. */
export function assertFailed(response: HttpResponse, reason: string): void {
  assert.deepEqual(
    [response.status, response.headers.get("location"), findSessionCookie(response)],
    [302, `/console?sign-in=${reason}`, ""],
  );
}
