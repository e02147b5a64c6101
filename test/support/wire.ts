/** Requests as raw bytes, and what the service responds. */
import assert from "node:assert/strict";

import { assertKeepsContract } from "./contract.ts";
import { toBasicAuthorization, call } from "./http.ts";
import { unique } from "./names.ts";
import { send, type RawResponse } from "./raw-http.ts";
import { bootstrap, type TestService } from "./service.ts";

export const register = "/api/now/push/App/installation";
export const authorization = `Authorization: ${toBasicAuthorization(bootstrap)}`;
export const close = "Connection: close";
export const body = '{"platform":"ios","token":"wire"}';
export const length = `Content-Length: ${body.length}`;
export const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

export const head = (first: string, ...headers: string[]): string =>
  [first, "Host: test", ...headers, "", ""].join("\r\n");
export const get = (target: string, ...headers: string[]): string =>
  head(`GET ${target} HTTP/1.1`, ...headers);
export const post = (...headers: string[]): string =>
  head(`POST ${register} HTTP/1.1`, authorization, "Content-Type: application/json", ...headers);

export const getStatuses = (responses: readonly RawResponse[]): number[] =>
  responses.map(({ status }) => status);

export const getCode = (response: RawResponse): string => String(JSON.parse(response.body).error.code);

/** Sends raw requests to a service. */
export function useWire(service: Pick<TestService, "url" | "log">) {
  /** Asserts that the service still accepts a valid request and has logged no error. */
  async function assertIntact(): Promise<void> {
    const good = await call(`${service.url}${register}`, {
      body: { platform: "ios", token: unique("token") },
    });
    assert.equal(good.status, 200);
    assert.deepEqual(
      service.log.filter(({ level }) => level >= 50),
      [],
    );
  }

  /** Sends the text and returns the responses once the service has closed the connection. */
  const exchangeRaw = async (text: string): Promise<readonly RawResponse[]> =>
    (await send(service.url, text)).responses;

  /** The only response is a documented error; a request sent after it gets none. */
  async function assertRejected(text: string, path = register, method = "POST"): Promise<void> {
    const responses = await exchangeRaw(text + get("/healthz"));
    assert.deepEqual(getStatuses(responses), [400], JSON.stringify(text.slice(0, 300)));
    const [response] = responses as [RawResponse];
    assert.equal(getCode(response), "BAD_REQUEST");
    const { status, headers, body: content } = response;
    const url = `${service.url}${path}`;
    assertKeepsContract({ method, url, status, headers: new Headers(headers), text: content });
  }

  return { exchangeRaw, assertRejected, assertIntact };
}
