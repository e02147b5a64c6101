import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { pino } from "pino";

import { ConfigurationError } from "@topicsync/lib/errors";
import { createDatabase } from "../../../src/storage/database/database.ts";
import { createAuthority } from "../../support/authority.ts";
import { call } from "../../support/http.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { definition, getMetric, stage } from "../../support/scene.ts";
import { sharedStack } from "../../support/stack.ts";
import { startTlsProxy } from "../../support/tls-proxy.ts";
import { createFolder, getPort } from "../../support/local.ts";

const { scene } = stage();
const former = await createAuthority("former authority");
const next = await createAuthority("next authority");

/** The URI of a proxy before the store, with the files of a client. */
function buildUri(uri: string, port: number, options: string): string {
  const direct = new URL(uri);
  direct.port = String(port);
  return `${direct.href.split("?", 1)[0] ?? ""}?directConnection=true&tls=true&${options}`;
}

/**
 * Announces topics, at most 100 more than are applied, until `end` is called. It resolves when the last are
 * sent.
 */
function announceSteadily(at: ReturnType<typeof scene>): { readonly end: () => Promise<void> } {
  const ending = new AbortController();
  const { signal } = ending;
  const flow = (async () => {
    while (!signal.aborted) {
      const announced = at.announced.size;
      await at.announce(announced, announced + 20);
      await until(
        "few are not applied yet",
        async () => signal.aborted || (await at.applied()) > announced - 80,
      );
    }
  })();
  return {
    end() {
      ending.abort();
      return flow;
    },
  };
}

describe("MongoDB over TLS", () => {
  it("ends the start if a file that the URI names cannot be used", (t) => {
    const folder = createFolder(t);
    const [empty, missing] = [join(folder, "empty"), join(folder, "missing")];
    writeFileSync(empty, "");
    for (const [options, fault] of [
      [`tlsCAFile=${missing}`, /MONGODB_URI: tlsCAFile .*ENOENT/],
      [`tlsCAFile=${empty}`, /MONGODB_URI: tlsCAFile .*no complete certificate/],
      [`tlsCertificateKeyFile=${empty}`, /MONGODB_URI: tlsCertificateKeyFile /],
    ] as const)
      assert.throws(
        () => createDatabase(`mongodb://127.0.0.1:1/topics?tls=true&${options}`, pino({ level: "silent" })),
        (error) => error instanceof ConfigurationError && fault.test(error.message),
      );
  });

  it("is used with a private authority and the login of a client certificate, which are replaced while records flow", async (t) => {
    const folder = createFolder(t);
    const write = (name: string, text: string): string => {
      const file = join(folder, name);
      writeFileSync(file, text);
      return file;
    };
    const [server, client, nextServer, nextClient] = await Promise.all([
      former.issue("store"),
      former.issue("first client"),
      next.issue("store"),
      next.issue("second client"),
    ]);
    // SecantusDB has no X.509 login, so a proxy accepts it.
    const logins: unknown[] = [];
    const accepting = await startMongoProxy(getPort(sharedStack().mongodb), {
      onCommand({ authenticate, mechanism, $db }) {
        if (authenticate !== undefined) logins.push(`${String(mechanism)} ${String($db)}`);
      },
    });
    accepting.fail({ command: "authenticate", executed: false, answer: { ok: 1 }, times: 10_000 });
    const proxy = await startTlsProxy(accepting.port, { ...server, ca: former.cert });
    const ca = write("ca.pem", former.cert);
    const key = write("client.pem", `${client.cert}\n${client.key}`);
    const at = scene();
    const login = "authMechanism=MONGODB-X509&authSource=%24external";
    const uri = buildUri(at.uri, proxy.port, `${login}&tlsCAFile=${ca}&tlsCertificateKeyFile=${key}`);
    await at.createTopic();
    const service = await at.start({ MONGODB_URI: uri });
    const flow = announceSteadily(at);
    await until("records flow", async () => (await at.count()) > 100);
    assert.ok(
      (await getMetric(
        service,
        'topicsync_certificate_expiry_timestamp_seconds{setting="MONGODB_URI tlsCAFile"}',
      )) > 0,
    );

    // A file that is half written changes nothing.
    write("client.pem", nextClient.cert.slice(0, 300));
    await until("it is reported", () =>
      Promise.resolve(
        service.log.some(
          ({ msg }) => msg?.startsWith("changed files of MONGODB_URI cannot be used") === true,
        ),
      ),
    );
    assert.deepEqual([...proxy.clients], ["first client"]);
    assert.deepEqual(new Set(logins), new Set(["MONGODB-X509 $external"]));
    const before = logins.length;
    write("client.pem", `${nextClient.cert}\n${nextClient.key}`);
    write("ca.pem", `${former.cert}\n${next.cert}`);
    proxy.replace({ ...nextServer, ca: next.cert });
    await until("the store is used with the next certificate", () =>
      Promise.resolve(proxy.clients.has("second client")),
    );
    const used = await at.applied();
    await until("records flow with it", async () => (await at.applied()) > used + 100);
    await flow.end();
    await at.inStep();
    assert.ok(logins.length > before);
    const { status } = await call(`${service.url}/api/svc_api_notif_mgmt/v1/topic`, { body: definition() });
    assert.equal(status, 201);
    assert.equal(await service.stop(), 0);
  });

  it("follows MONGODB_URI_FILE to another address while records flow", async (t) => {
    const folder = createFolder(t);
    const server = await former.issue("store");
    const client = await former.issue("client");
    const [ca, key] = [join(folder, "ca.pem"), join(folder, "client.pem")];
    writeFileSync(ca, former.cert);
    writeFileSync(key, `${client.cert}\n${client.key}`);
    const files = `tlsCAFile=${ca}&tlsCertificateKeyFile=${key}`;
    const port = getPort(sharedStack().mongodb);
    const [first, second] = [
      await startTlsProxy(port, { ...server, ca: former.cert }),
      await startTlsProxy(port, { ...server, ca: former.cert }),
    ];
    const at = scene();
    const file = join(folder, "uri");
    writeFileSync(file, `${buildUri(at.uri, first.port, files)}\n`);
    await at.createTopic();
    const service = await at.start({ MONGODB_URI: "", MONGODB_URI_FILE: file });
    const flow = announceSteadily(at);
    await until("records flow", async () => (await at.count()) > 100);
    assert.equal(second.clients.size, 0);
    writeFileSync(file, "");
    writeFileSync(file, buildUri(at.uri, second.port, files));
    await until("the new address is used", () => Promise.resolve(second.clients.size > 0));
    // The former one is no longer reachable.
    first.replace({ ...(await next.issue("another")), ca: next.cert });
    const used = await at.applied();
    await until("records flow over it", async () => (await at.applied()) > used + 100);
    await flow.end();
    await at.inStep();
    assert.equal(await service.stop(), 0);
  });
});
