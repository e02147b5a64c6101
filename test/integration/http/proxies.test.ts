import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ConfigurationError } from "@topicsync/lib/errors";
import { readConfig } from "../../../src/config/config.ts";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";

const { start } = stage().scene();

/** Returns the addresses that the audit records for requests with these X-Forwarded-For headers. */
async function getAuditedAddresses(trusted: string, forwarded: readonly string[]): Promise<unknown[]> {
  const service = await start({ HTTP_TRUSTED_PROXIES: trusted });
  const found = [];
  for (const header of forwarded) {
    const externalId = unique("topic");
    const url = `${service.url}/api/svc_api_notif_mgmt/topic`;
    await call(url, { body: { name: externalId, externalId }, headers: { "X-Forwarded-For": header } });
    const line = await until("it is recorded", () =>
      service.log.find((one) => one["audit"] === true && one["externalId"] === externalId),
    );
    found.push(line["from"]);
  }
  await service.stop();
  return found;
}

describe("the client's address", () => {
  it("is the connection's if it is no trusted proxy's", async () => {
    assert.deepEqual(await getAuditedAddresses("10.0.0.0/8", ["192.0.2.1"]), ["127.0.0.1"]);
  });

  it("is the last one in X-Forwarded-For that is not a trusted proxy's, if it is valid", async () => {
    assert.deepEqual(
      await getAuditedAddresses("127.0.0.1,10.0.0.0/8", [
        "192.0.2.1",
        "203.0.113.9, 192.0.2.1, 10.1.2.3",
        "2001:db8::1",
        "nonsense",
        "",
      ]),
      ["192.0.2.1", "192.0.2.1", "2001:db8::1", "127.0.0.1", "127.0.0.1"],
    );
  });
});

describe("the request id of a caller that is no trusted proxy", () => {
  it("is new, and the caller's own is logged if it is valid", async () => {
    const service = await start();
    for (const [given, logged] of [
      ["abc-123", "abc-123"],
      ["a b\tc", undefined],
    ] as const) {
      const { headers } = await call(`${service.url}/nothing`, { headers: { "X-Request-Id": given } });
      const id = headers.get("x-request-id");
      assert.match(id ?? "", /^[0-9a-f-]{36}$/);
      const line = await until("it is logged", () => service.log.find(({ requestId }) => requestId === id));
      assert.equal(line["clientRequestId"], logged);
    }
    await service.stop();
  });
});

describe("the setting of trusted proxies", () => {
  it("accepts addresses and CIDR ranges only", () => {
    const trusted = "10.0.0.0/8, 2001:db8::/32,192.0.2.1";
    assert.deepEqual(readConfig({ HTTP_TRUSTED_PROXIES: trusted }).http.trustedProxies, [
      "10.0.0.0/8",
      "2001:db8::/32",
      "192.0.2.1",
    ]);
    for (const wrong of [
      "proxy.example.org",
      "10.0.0.0/33",
      "0.0.0.0/0",
      "10.0.0.0/",
      "10.0.0.0/8/8",
      "true",
    ]) {
      assert.throws(
        () => readConfig({ HTTP_TRUSTED_PROXIES: wrong }),
        (error) => error instanceof ConfigurationError && error.message.includes(`"${wrong}"`),
      );
    }
  });
});
