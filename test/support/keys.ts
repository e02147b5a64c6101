import assert from "node:assert/strict";

import { call } from "./http.ts";
import { unique } from "./names.ts";
import { keepSecret } from "./secrets.ts";

/** Creates an API key with these rights and roles, as the bootstrap user. */
export async function createKey(url: string, ...roles: readonly string[]): Promise<string> {
  const expiresOn = new Date(Date.now() + 3_600_000).toISOString();
  const body = { name: unique("key"), roles, expiresOn };
  const { status, json, text } = await call(`${url}/api/topicsync/v1/keys`, { body });
  assert.equal(status, 201, text);
  keepSecret(json.key);
  return String(json.key);
}
