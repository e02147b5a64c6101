import assert from "node:assert/strict";

import { assertKeepsContract } from "./contract.ts";
import { keepSecret } from "./secrets.ts";
import { bootstrap } from "./service.ts";

/** A response, its body read to the end. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The text as JSON, or undefined. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read bodies of any shape
  readonly json: any;
}

export interface Call {
  readonly method?: string;
  /** Strings and bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** `undefined` sends no credentials. */
  readonly as?: { readonly user: string; readonly password: string } | undefined;
  /** An API key, instead of a user. */
  readonly key?: string;
}

export const toBasicAuthorization = ({ user, password }: { user: string; password: string }): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

/**
 * Calls an operation, by default POST with JSON as the bootstrap user. Throws if the response is not one that
 * the OpenAPI document describes.
 */
export async function call(url: string, options: Call = {}): Promise<HttpResponse> {
  const { method = "POST", body, headers = {}, key } = options;
  const as = "as" in options ? options.as : bootstrap;
  const basic = as && toBasicAuthorization(as);
  const authorization = headers["Authorization"] ?? (key === undefined ? basic : `Bearer ${key}`);
  keepSecrets(body, as?.password, authorization);
  const response = await fetch(url, {
    method,
    redirect: "manual",
    headers: {
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(authorization === undefined ? {} : { Authorization: authorization }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: toRequestBody(body) }),
  });
  const text = await response.text();
  assertKeepsContract({ method, url, status: response.status, headers: response.headers, text });
  return { status: response.status, headers: response.headers, text, json: parseJson(text) };
}

/** Asserts the status, the code and the standard body of an error. */
export function assertError(
  { status, headers, text, json }: HttpResponse,
  expected: number,
  code: string,
): void {
  assert.deepEqual([status, json?.error.code], [expected, code], text);
  assert.equal(json.status, "failure");
  assert.deepEqual(Object.keys(json).toSorted(), ["error", "status"]);
  assert.deepEqual(Object.keys(json.error).toSorted(), ["code", "detail", "details", "message"]);
  assert.match(headers.get("content-type") ?? "", /^application\/json/);
}

const toRequestBody = (body: unknown): string | Uint8Array<ArrayBuffer> =>
  typeof body === "string" ? body : body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body);

/** Registers what no log may contain: passwords, the credentials in the Authorization header, push tokens. */
function keepSecrets(body: unknown, password?: string, authorization?: string): void {
  keepSecret(password, authorization?.replace(/^\w+ +/, ""));
  if (typeof body !== "object" || body === null) return;
  for (const name of ["token", "previousToken", "password"])
    if (name in body) keepSecret(body[name as keyof typeof body]);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
