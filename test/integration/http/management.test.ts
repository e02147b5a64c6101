import assert from "node:assert/strict";
import { isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, it } from "node:test";

import { findFreePort } from "@topicsync/embedded";
import { assertError, toBasicAuthorization, type HttpResponse } from "../../support/http.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";
import { bootstrap, runCli, startTopicsyncHere } from "../../support/service.ts";

const { scene } = stage();
const paths = ["/healthz", "/readyz", "/metrics"];

/** Unlike `call`, also where the API's document does not apply. */
async function get(url: string): Promise<HttpResponse> {
  const response = await fetch(url, { headers: { Authorization: toBasicAuthorization(bootstrap) } });
  const text = await response.text();
  const { status, headers } = response;
  const isJson = headers.get("content-type")?.startsWith("application/json") === true;
  return { status, headers, text, json: isJson ? JSON.parse(text) : undefined };
}

describe("a service with MANAGEMENT_PORT", () => {
  it("serves probes and metrics there and nowhere else, and nothing else there", async () => {
    const [port, management] = [await findFreePort(), await findFreePort()];
    const ports = { HTTP_PORT: String(port), MANAGEMENT_PORT: String(management) };
    const { settings } = scene(ports);
    const service = await startTopicsyncHere(settings);
    await service.ready();
    const apart = `http://127.0.0.1:${management}`;
    await until("it is ready", async () => (await get(`${apart}/readyz`)).status === 200);
    for (const path of paths) {
      assert.equal((await get(`${apart}${path}`)).status, 200, path);
      assertError(await get(`${service.url}${path}`), 404, "NOT_FOUND");
    }
    for (const path of ["/openapi.json", "/console", "/api/topicsync/v1/sync", "/"])
      assertError(await get(`${apart}${path}`), 404, "NOT_FOUND");
    const { json } = await get(`${service.url}/openapi.json`);
    assert.deepEqual(
      paths.filter((path) => path in json.paths),
      [],
    );

    const { output } = await runCli(["status"], settings);
    assert.match(output, new RegExp(`^The service at http://127\\.0\\.0\\.1:${port} is ready\\.`));
    const given = await runCli(["status", "--server", service.url], settings);
    assert.match(given.output, /is running, with its probes at MANAGEMENT_PORT\./);
    assert.equal(await service.stop(), 0);
  });

  it("listens on IPv4 and IPv6 with HTTP_HOST=::", async () => {
    const port = String(await findFreePort());
    const { settings } = scene({ HTTP_HOST: "::", HTTP_PORT: port, MANAGEMENT_PORT: "0" });
    const service = await startTopicsyncHere(settings);
    const url = service.log.find(({ msg }) => msg === "management server listening")?.["url"];
    const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
      all?.some(({ address }) => isIPv6(address)),
    );
    for (const at of [service.url, String(url)]) {
      const { port } = new URL(at);
      for (const host of ["127.0.0.1", ...(hasIpv6 ? ["[::1]"] : [])])
        assert.match(
          String((await get(`http://${host}:${port}/openapi.json`)).status),
          /^(?:200|404)$/,
          host,
        );
    }
    const management = new URL(String(url)).port;
    const { output } = await runCli(["status"], { ...settings, MANAGEMENT_PORT: management });
    assert.ok(output.startsWith(`The service at http://127.0.0.1:${port} is `), output);
    assert.equal(await service.stop(), 0);
  });
});
