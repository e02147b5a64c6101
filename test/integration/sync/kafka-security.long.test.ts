import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import kafkajs from "kafkajs";

import { createAuthority } from "../../support/authority.ts";
import { unique } from "../../support/names.ts";
import { impatient } from "../../support/patience.ts";
import { pause, until } from "../../support/poll.ts";
import { createEvent, defineTopic, routerStage } from "../../support/router-scene.ts";
import { definition, waitUntilReady } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";
import { beside, runCli, startTopicsyncHere, type TestService } from "../../support/service.ts";
import { sessionMs, startSecureBroker, user } from "../../support/secure-broker.ts";
import { sharedStack } from "../../support/stack.ts";

const broker = await startSecureBroker();
const another = await createAuthority("another");
const { producer, routerScene } = routerStage({ ...sharedStack(), kafka: broker.address });

const isWarning = ({ level }: { readonly level: number }): boolean => level >= 40;

describe("over TLS with a private authority", () => {
  for (const listener of ["PLAIN", "IPV6", "SCRAM256", "SCRAM512", "MTLS", "OAUTH"] as const)
    it(`${listener}: the sync, the router, dead letters and commands work`, async () => {
      const at = routerScene(broker.settings[listener]);
      await at.createTopics();
      const service = await at.start();
      const file = broker.writeFile(`${listener}.json`, JSON.stringify(defineTopic("wanted", "eventType=A")));
      const announced = await at.cli("announce", "--wait", file);
      assert.equal(announced.code, 0, announced.errors);
      await at.stored(1);
      await producer.send({ topic: at.topic, messages: [{ key: "bad", value: "no definition" }] });
      await at.produce({ value: createEvent("A") }, { value: createEvent("B") }, { value: createEvent("A") });
      await at.routed();
      assert.equal(await at.countCopies(), 2);

      await until("the dead letter is listed", async () => {
        const { output } = await at.cli("dead-letters", "list");
        return output.includes("MALFORMED_JSON");
      });
      const status = await runCli(["status", "--json"], { ...at.settings, ...beside(service) });
      assert.equal(status.code, 0, status.errors);
      const egress = await at.cli("topics", "egress", "--json");
      assert.equal(egress.code, 0, egress.errors);
      assert.deepEqual(service.log.filter(isWarning), []);
      assert.equal(await service.stop(), 0);
    });
});

/**
 * Sends about 500 records a second until some sessions have ended: most of them events, since the store of
 * the tests takes fewer announcements on a busy machine.
 */
async function sendForAMinute(at: ReturnType<typeof routerScene>, onSecond: (second: number) => unknown) {
  const perBatch = { announcements: 5, events: 45 };
  const batchMs = 100;
  const batches = (4 * sessionMs) / batchMs;
  const startedAt = performance.now();
  for (let batch = 0; batch < batches; batch += 1) {
    if (batch % 10 === 0) await onSecond(batch / 10);
    await Promise.all([
      at.announce(batch * perBatch.announcements, (batch + 1) * perBatch.announcements),
      at.produce(...Array.from({ length: perBatch.events }, () => ({ value: createEvent("A") }))),
    ]);
    await pause(Math.max(0, startedAt + (batch + 1) * batchMs - performance.now()));
  }
  return { events: batches * perBatch.events };
}

// They wait for most of their time, and log in to listeners of their own.
const together = { concurrency: true };

describe(
  "in sessions of 15 seconds, while credentials are replaced and the former ones revoked",
  together,
  () => {
    /** Runs a service for four sessions, and asserts that everything arrived once, in the same process. */
    async function assertNothingLost(
      settings: Readonly<Record<string, string>>,
      rotate: (second: number) => unknown,
    ): Promise<TestService> {
      const at = routerScene(settings);
      await at.createTopics();
      const service = await at.start();
      await at.send(defineTopic("wanted", "eventType=A"));
      at.announced.set("wanted", "wanted");
      await at.stored(1);
      const { events } = await sendForAMinute(at, rotate);
      await at.inStep();
      await at.routed();
      await at.assertForwarded(["wanted"], [events]);
      await waitUntilReady(service);
      assert.equal(await service.stop(), 0);
      return service;
    }

    it("SCRAM: nothing is lost or repeated", async () => {
      const { KAFKA_SASL_PASSWORD: first, ...rest } = broker.settings.SCRAM512;
      const file = broker.writeFile("scram-password", `${first ?? ""}\n`);
      const next = unique("another password");
      const service = await assertNothingLost({ ...rest, KAFKA_SASL_PASSWORD_FILE: file }, async (second) => {
        if (second !== 20) return;
        await broker.setScramPassword("SCRAM512", next);
        broker.writeFile("scram-password", next);
      });
      await broker.setScramPassword("SCRAM512", first);
      assert.ok(service.log.some(({ msg }) => msg === "changed file read"));
    });

    it("client certificates: nothing is lost or repeated", async () => {
      const [first, second] = [await broker.authority.issue("first"), await another.issue("second")];
      const write = ({ cert, key }: { readonly cert: string; readonly key: string }) => ({
        KAFKA_TLS_CERT: broker.writeFile("rotated.pem", cert),
        KAFKA_TLS_KEY: broker.writeFile("rotated-key.pem", key),
      });
      const connect = async ({ cert, key }: typeof first): Promise<void> => {
        const ssl = { ca: broker.authority.cert, cert, key };
        const options = { brokers: [broker.addresses.MTLS], ssl, retry: { retries: 0 } };
        const admin = new kafkajs.Kafka({ ...options, logLevel: kafkajs.logLevel.NOTHING }).admin();
        try {
          await admin.connect();
        } finally {
          await admin.disconnect();
        }
      };
      await broker.setClientRights("first", true);
      await broker.setClientRights("second", true);
      const settings = { ...broker.settings.MTLS, ...write(first), KAFKA_TLS_KEY_PASSPHRASE: "" };
      const service = await assertNothingLost(settings, async (at) => {
        if (at === 10) write(second);
        if (at === 20) await broker.trustClients(broker.authority.cert, another.cert);
        if (at !== 35) return;
        await broker.trustClients(another.cert);
        await broker.setClientRights("first", false);
        await until("the broker rejects the first certificate", () =>
          connect(first).then(
            () => false,
            () => true,
          ),
        );
        await connect(second);
      });
      await broker.trustClients(broker.authority.cert);
      const messages = service.log.map(({ msg }) => msg);
      const kept = messages.indexOf("new certificate not accepted, keeping the connections of the old one");
      assert.ok(kept >= 0);
      assert.ok(messages.indexOf("kafka connections reopened with the new certificate") > kept);
    });

    it("OAUTHBEARER: nothing is lost or repeated, with one token for all connections", async () => {
      const { KAFKA_OAUTH_CLIENT_SECRET: first = "", ...rest } = broker.settings.OAUTH;
      const file = broker.writeFile("client-secret", first);
      const machine = { id: user, audience: "kafka", lifetimeSeconds: 50 };
      broker.issuer.setMachine({ ...machine, secret: first });
      const next = unique("another secret");
      keepSecret(next);
      const before = broker.issuer.countMachineTokens();
      const startedAt = performance.now();
      await assertNothingLost({ ...rest, KAFKA_OAUTH_CLIENT_SECRET_FILE: file }, (second) => {
        if (second !== 20) return;
        broker.writeFile("client-secret", next);
        broker.issuer.setMachine({ ...machine, secret: next });
      });
      broker.issuer.setMachine({ ...machine, secret: first, lifetimeSeconds: 300 });
      const tokens = broker.issuer.countMachineTokens() - before;
      const minutes = Math.ceil((performance.now() - startedAt) / 60_000);
      assert.ok(tokens > 2 && tokens < 10 * minutes, `${tokens} tokens in ${minutes} minutes`);
    });
  },
);

const bearer = {
  KAFKA_BROKERS: broker.addresses.OAUTH,
  KAFKA_TLS: "true",
  KAFKA_TLS_CA: broker.settings.OAUTH["KAFKA_TLS_CA"] ?? "",
  KAFKA_SASL_MECHANISM: "oauthbearer",
};

describe("a login that Kafka rejects", together, () => {
  // Created when it is needed: the tests before this one may take longer than it is valid.
  const foreignToken = broker.writeFile("token", "");
  before(async () => void broker.writeFile("token", await broker.issuer.token()));

  const cases = [
    ["a wrong password", { ...broker.settings.PLAIN, KAFKA_SASL_PASSWORD: "not it" }, /KAFKA_SASL_PASSWORD/],
    [
      "a wrong password for SCRAM",
      { ...broker.settings.SCRAM256, KAFKA_SASL_PASSWORD: "not it" },
      /KAFKA_SASL_PASSWORD/,
    ],
    [
      "a mechanism that the listener does not have",
      { ...broker.settings.PLAIN, KAFKA_SASL_MECHANISM: "scram-sha-256" },
      /check KAFKA_SASL_MECHANISM/,
    ],
    [
      "sessions that are too short",
      broker.settings.SHORT,
      /sessions after 5000 ms.*connections\.max\.reauth\.ms/,
    ],
    [
      "a wrong client secret",
      { ...broker.settings.OAUTH, KAFKA_OAUTH_CLIENT_SECRET: "not the secret" },
      /KAFKA_OAUTH_TOKEN_URL gives no token \(invalid_client.*check KAFKA_OAUTH_CLIENT_ID/,
    ],
    [
      "a token that is none",
      { ...bearer, KAFKA_OAUTH_TOKEN_FILE: broker.writeFile("no-token", "no token at all") },
      /rejects the login.*check the issuer, audience, scope and lifetime of the token/,
    ],
    [
      "a token for another audience",
      { ...bearer, KAFKA_OAUTH_TOKEN_FILE: foreignToken },
      /invalid_token.*check the issuer, audience, scope and lifetime of the token/,
    ],
    [
      "an authority that is not trusted",
      { ...broker.settings.PLAIN, KAFKA_TLS_CA: broker.writeFile("other.pem", another.cert) },
      /check KAFKA_TLS_CA/,
    ],
  ] as const;
  for (const [title, settings, reason] of cases)
    it(`is reported with the setting: ${title}`, async () => {
      const at = routerScene(settings);
      const service = await startTopicsyncHere(at.settings);
      await until("the reason is logged", () =>
        Promise.resolve(service.log.some((line) => reason.test(String(line["reason"])))),
      );
      assert.equal(await service.stop(), 0);
    });

  it("ends a command with the reason", async () => {
    const at = routerScene({ ...broker.settings.PLAIN, ...impatient, KAFKA_SASL_PASSWORD: "not it" });
    const { code, errors } = await runCli(["announce", broker.writeFile("topics.json", "[]")], at.settings);
    assert.equal(code, 69);
    assert.match(errors, /Kafka rejects the login.*KAFKA_SASL_PASSWORD/);
  });

  it("is no reason to give up: it is tried again", async () => {
    await broker.setScramPassword("SCRAM256", unique("not the password yet"));
    const at = routerScene(broker.settings.SCRAM256);
    await at.createTopics();
    const service = await startTopicsyncHere(at.settings);
    await until("it is rejected", () =>
      Promise.resolve(service.log.some((line) => /rejects the login/.test(String(line["reason"])))),
    );
    await broker.setScramPassword("SCRAM256", broker.password);
    await service.ready();
    await at.send(definition("one"));
    await until("the topic is stored", async () => (await at.count()) === 1);
    assert.equal(await service.stop(), 0);
  });
});
