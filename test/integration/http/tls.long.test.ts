import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connect } from "node:tls";

import { ConfigurationError } from "@topicsync/lib/errors";
import { readConfig } from "../../../src/config/config.ts";
import { createCertificate } from "../../support/certificate.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";

const { start, startProcess } = stage().scene();
const folder = mkdtempSync(join(tmpdir(), "topicsync-tls-"));
after(() => {
  rmSync(folder, { recursive: true });
});
const createFile = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const [first, second] = await Promise.all([createCertificate(), createCertificate()]);

/** Sends a request that trusts only this certificate. */
async function getPage(url: string, trusted: string, path = "/openapi.json"): Promise<IncomingMessage> {
  const request = get(`${url}${path}`, { ca: trusted, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.resume();
  return response;
}

describe("over TLS", () => {
  it("the service sends HSTS, loads a new certificate on SIGHUP and rejects plain HTTP", async () => {
    const cert = createFile("cert.pem", first.cert);
    const key = createFile("key.pem", first.key);
    const audit = join(folder, "audit.log");
    const service = await startProcess({
      ...{ HTTP_TLS_CERT: cert, HTTP_TLS_KEY: key },
      ...{ AUDIT_LOG: audit, MANAGEMENT_PORT: "0" },
    });
    const management = service.log.find(({ msg }) => msg === "management server listening")?.["url"];
    assert.match(service.url, /^https:\/\/127\.0\.0\.1:\d+$/);
    const { statusCode, headers } = await getPage(service.url, first.cert);
    assert.equal(statusCode, 200);
    assert.match(headers["strict-transport-security"] ?? "", /^max-age=\d{8,}/);
    await assert.rejects(getPage(service.url, second.cert), "an untrusted certificate");

    const plain = connectPlain(Number(new URL(service.url).port), "127.0.0.1");
    plain.on("error", () => undefined).write("GET /openapi.json HTTP/1.1\r\nHost: test\r\n\r\n");
    let text = "";
    plain.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
    await once(plain, "close");
    assert.doesNotMatch(text, /HTTP\/1\.1 200/);
    const old = connect({ port: Number(new URL(service.url).port), maxVersion: "TLSv1.1", ca: first.cert });
    await assert.rejects(once(old, "secureConnect"), "an obsolete TLS version");

    createFile("cert.pem", second.cert);
    service.process.kill("SIGHUP");
    const fault = await until("the mismatch is logged", () =>
      service.log.find(({ msg }) => msg?.startsWith("certificate reload failed") === true),
    );
    assert.deepEqual(fault["faults"], ["HTTP_TLS_KEY is not the key of the certificate in HTTP_TLS_CERT"]);
    assert.equal((await getPage(service.url, first.cert)).statusCode, 200);

    createFile("key.pem", second.key);
    service.process.kill("SIGHUP");
    await until(
      "the new certificate is served",
      async () => (await getPage(service.url, second.cert)).statusCode,
    );
    assert.equal((await getPage(String(management), second.cert, "/readyz")).statusCode, 200);
    assert.equal(await service.stop(), 0);
  });
});

describe("a certificate whose files change", () => {
  it("is served without a signal, once both files belong together", async () => {
    const cert = createFile("rotated.pem", first.cert);
    const key = createFile("rotated-key.pem", first.key);
    const service = await start({ HTTP_TLS_CERT: cert, HTTP_TLS_KEY: key });
    createFile("rotated.pem", second.cert);
    const line = await until("the mismatch is logged", () =>
      service.log.find(({ msg }) => msg === "changed file is invalid, keeping the old content"),
    );
    assert.equal(line["reason"], "HTTP_TLS_KEY is not the key of the certificate in HTTP_TLS_CERT");
    assert.equal((await getPage(service.url, first.cert)).statusCode, 200);
    createFile("rotated-key.pem", second.key);
    await until(
      "the new certificate is served",
      async () => (await getPage(service.url, second.cert)).statusCode,
    );
    assert.equal(await service.stop(), 0);
  });
});

describe("the TLS settings", () => {
  const findFaults = (cert: string, key: string): string => {
    try {
      readConfig({ HTTP_TLS_CERT: cert, HTTP_TLS_KEY: key });
    } catch (error) {
      assert.ok(error instanceof ConfigurationError);
      return error.message;
    }
    assert.fail("the settings were accepted");
  };
  const good = { cert: createFile("good.pem", first.cert), key: createFile("good.key", first.key) };

  it("must be given together", () => {
    assert.match(findFaults(good.cert, ""), /HTTP_TLS_KEY is required when HTTP_TLS_CERT is set/);
    assert.match(findFaults("", good.key), /HTTP_TLS_CERT is required when HTTP_TLS_KEY is set/);
  });

  it("must name readable PEM files, whose content appears in no message", () => {
    assert.match(findFaults(join(folder, "none"), good.key), /HTTP_TLS_CERT: ENOENT/);
    const secret = createFile("secret", "hush hush");
    const swapped = findFaults(good.key, secret);
    assert.match(swapped, /HTTP_TLS_CERT: .* contains no certificate \(PEM\)/);
    assert.match(swapped, /HTTP_TLS_KEY: .* contains no private key/);
    assert.doesNotMatch(swapped, /hush|BEGIN/);
  });

  it("must name a certificate and its key", () => {
    const other = createFile("other.key", second.key);
    assert.match(
      findFaults(good.cert, other),
      /HTTP_TLS_KEY is not the key of the certificate in HTTP_TLS_CERT/,
    );
    assert.equal(readConfig({ HTTP_TLS_CERT: good.cert, HTTP_TLS_KEY: good.key }).http.tls?.key, first.key);
  });
});
