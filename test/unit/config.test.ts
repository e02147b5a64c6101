import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { settingsSchema } from "../../schemas/settings.ts";
import { readEnvironment, readConfig } from "../../src/config.ts";
import { ConfigurationError } from "../../src/lib/errors.ts";
import { createAuthority } from "../support/authority.ts";

const folder = mkdtempSync(join(tmpdir(), "topicsync-config-"));
after(() => {
  rmSync(folder, { recursive: true });
});

const authority = await createAuthority();
const writeSecretFile = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const getFaults = (environment: Record<string, string>): string => {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.message;
  }
  assert.fail("the settings were accepted");
};

describe("the settings", () => {
  it("have the defaults of the contract", () => {
    assert.deepEqual(readConfig({}), {
      http: {
        host: "127.0.0.1",
        port: 8080,
        maxConnections: 10_000,
        publicUrl: undefined,
        trustedProxies: [],
        tls: undefined,
      },
      management: undefined,
      mongodbUri: undefined,
      mongodbUriFile: undefined,
      kafka: {
        brokers: undefined,
        clientId: "topicsync",
        groupId: "topicsync",
        maxBatchBytes: 67_108_864,
        announcementsTopic: "topicsync.announcements",
        deadLetterTopic: "topicsync.announcements.dead-letter",
        pushFeedback: undefined,
        router: undefined,
        tls: undefined,
        sasl: undefined,
        rack: undefined,
      },
      bootstrap: undefined,
      oidc: undefined,
      signIn: undefined,
      push: { applications: [], platforms: [], maxTokensPerUser: undefined, maxUnseenDays: undefined },
      pickerLoad: "first-use",
      eventLearning: "paths",
      historyRetentionDays: undefined,
      logLevel: "info",
      auditLog: "stdout",
      stack: {
        choice: "auto",
        dataFolder: ".topicsync",
        kafkaImage: "apache/kafka:4.3.1",
        mongoImage: "mongo:8.0",
      },
    });
  });

  it("are parsed into their types", () => {
    const config = readConfig({
      HTTP_PORT: "0",
      KAFKA_BROKERS: "a:9092, b:9093,",
      PUSH_APPLICATIONS: "one, two",
      BOOTSTRAP_USER: "admin",
      BOOTSTRAP_PASSWORD: "123456789",
      MONGODB_URI: "mongodb://a,b:27017/topics?replicaSet=rs0",
    });
    assert.equal(config.http.port, 0);
    assert.deepEqual(config.kafka.brokers, ["a:9092", "b:9093"]);
    assert.deepEqual(config.push.applications, ["one", "two"]);
    assert.deepEqual(config.bootstrap, { user: "admin", password: "123456789", reset: false });
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.kafka));
  });

  it("count as unset when empty", () => {
    assert.equal(readConfig({ HTTP_PORT: "", MONGODB_URI: "" }).http.port, 8080);
  });

  it("report every fault at once, by the name of the variable", () => {
    const message = getFaults({
      HTTP_PORT: "80a",
      LOG_LEVEL: "loud",
      MONGODB_URI: "mongodb://host:27017",
      KAFKA_BROKERS: "host",
      BOOTSTRAP_USER: "admin",
      TOPICSYNC_STACK: "cloud",
      KAFKA_TLS: "yes",
    });
    for (const name of [
      "HTTP_PORT",
      "LOG_LEVEL",
      "MONGODB_URI",
      "KAFKA_BROKERS",
      "BOOTSTRAP_PASSWORD",
      "TOPICSYNC_STACK",
      "KAFKA_TLS",
    ]) {
      assert.match(message, new RegExp(`^  ${name} `, "m"));
    }
  });

  it("never show a secret in a fault", () => {
    const message = getFaults({
      MONGODB_URI: "mongodb://user:geheim@host",
      BOOTSTRAP_USER: "a:b",
      BOOTSTRAP_PASSWORD: "geheim",
    });
    assert.doesNotMatch(message, /geheim/);
  });

  it("normalize the public URL, which has no path", () => {
    const parsePublicUrl = (text: string) => readConfig({ HTTP_PUBLIC_URL: text }).http.publicUrl;
    assert.equal(parsePublicUrl("https://topicsync.example.org/"), "https://topicsync.example.org");
    assert.equal(parsePublicUrl("http://Topicsync.example.org:80"), "http://topicsync.example.org");
    for (const wrong of ["topicsync.example.org", "https://host/path", "https://host:port"])
      assert.match(getFaults({ HTTP_PUBLIC_URL: wrong }), /^ {2}HTTP_PUBLIC_URL /m);
  });

  it("serve probes and metrics on a port of their own, by default of the same address", () => {
    const { management } = readConfig({ HTTP_HOST: "::", MANAGEMENT_PORT: "9090" });
    assert.deepEqual(management, { host: "::", port: 9090 });
    assert.match(getFaults({ MANAGEMENT_PORT: "8080" }), /MANAGEMENT_PORT must differ from HTTP_PORT/);
    assert.match(
      getFaults({ MANAGEMENT_HOST: "::1" }),
      /MANAGEMENT_PORT is required when MANAGEMENT_HOST is set/,
    );
    assert.doesNotThrow(() => readConfig({ HTTP_PORT: "0", MANAGEMENT_PORT: "0" }));
  });

  it("reject a short bootstrap password", () => {
    assert.match(
      getFaults({ BOOTSTRAP_USER: "admin", BOOTSTRAP_PASSWORD: "seven77" }),
      /^ {2}BOOTSTRAP_PASSWORD must have at least 8 characters$/m,
    );
    assert.doesNotThrow(() => readConfig({ BOOTSTRAP_USER: "admin", BOOTSTRAP_PASSWORD: "eight888" }));
  });

  it("reject the same Kafka topic for announcements and dead letters", () => {
    assert.match(
      getFaults({ KAFKA_ANNOUNCEMENTS_TOPIC: "t", KAFKA_DEAD_LETTER_TOPIC: "t" }),
      /KAFKA_DEAD_LETTER_TOPIC/,
    );
  });

  it("derive the dead-letter topic and the group of push feedback, and reject names in use", () => {
    const { kafka } = readConfig({ KAFKA_PUSH_FEEDBACK_TOPIC: "feedback", KAFKA_GROUP_ID: "group" });
    assert.deepEqual(kafka.pushFeedback, {
      topic: "feedback",
      deadLetterTopic: "feedback.dead-letter",
      groupId: "group.push-feedback",
    });
    const taken = [
      { KAFKA_ANNOUNCEMENTS_TOPIC: "f" },
      { KAFKA_DEAD_LETTER_TOPIC: "f" },
      { KAFKA_ANNOUNCEMENTS_TOPIC: "f.dead-letter" },
      { KAFKA_DEAD_LETTER_TOPIC: "f.dead-letter" },
    ];
    for (const one of taken)
      assert.match(
        getFaults({ KAFKA_PUSH_FEEDBACK_TOPIC: "f", ...one }),
        /KAFKA_PUSH_FEEDBACK_TOPIC .*must differ/,
      );
  });

  it("derive the names of the router, and reject those in use", () => {
    const { router } = readConfig({ KAFKA_EVENTS_TOPIC: "events", KAFKA_GROUP_ID: "group" }).kafka;
    assert.deepEqual(router, {
      topic: "events",
      deadLetterTopic: "events.dead-letter",
      groupId: "group.router",
      maxEventBytes: 1_048_576,
      egressTopic: "topicsync.egress",
      newEgress: { partitions: undefined, replication: undefined },
      maxCopies: 10_000,
      createEgress: undefined,
      maxCreatedEgress: 1_000,
      unmatchedTopic: undefined,
    });
    const given = {
      KAFKA_EVENTS_TOPIC: "events",
      KAFKA_EVENTS_GROUP_ID: "own",
      KAFKA_EVENTS_DEAD_LETTER_TOPIC: "rest",
      KAFKA_MAX_EVENT_BYTES: "2048",
      KAFKA_EGRESS_TOPIC: "out.{namespace}.{externalId}",
      KAFKA_EGRESS_CREATE: "true",
      KAFKA_EGRESS_PARTITIONS: "6",
      KAFKA_UNMATCHED_TOPIC: "unmatched",
    };
    assert.deepEqual(readConfig(given).kafka.router, {
      topic: "events",
      deadLetterTopic: "rest",
      groupId: "own",
      maxEventBytes: 2048,
      egressTopic: "out.{namespace}.{externalId}",
      newEgress: { partitions: 6, replication: undefined },
      createEgress: { partitions: 6, replication: undefined },
      maxCreatedEgress: 1_000,
      maxCopies: 10_000,
      unmatchedTopic: "unmatched",
    });
    const wrong: [object, RegExp][] = [
      [{ KAFKA_EGRESS_TOPIC: "events" }, /KAFKA_EGRESS_TOPIC must differ from KAFKA_EVENTS_TOPIC/],
      [{ KAFKA_UNMATCHED_TOPIC: "rest" }, /KAFKA_UNMATCHED_TOPIC must differ/],
      [{ KAFKA_ANNOUNCEMENTS_TOPIC: "events" }, /KAFKA_EVENTS_TOPIC must differ/],
      [{ KAFKA_EVENTS_GROUP_ID: "topicsync" }, /KAFKA_EVENTS_GROUP_ID must differ/],
      [{ KAFKA_EGRESS_TOPIC: "{name}" }, /KAFKA_EGRESS_TOPIC /],
      [{ KAFKA_EGRESS_TOPIC: "{externalId}" }, /KAFKA_EGRESS_TOPIC .*after its first character/],
      [{ KAFKA_EGRESS_TOPIC: "{namespace}.x" }, /KAFKA_EGRESS_TOPIC .*after its first character/],
      [{ KAFKA_EGRESS_TOPIC: "constructor" }, /a Kafka topic named "constructor"/],
      [{ KAFKA_EGRESS_TOPIC: "__own" }, /KAFKA_EGRESS_TOPIC /],
      [{ KAFKA_EGRESS_TOPIC: ".." }, /KAFKA_EGRESS_TOPIC /],
      [{ KAFKA_EVENTS_TOPIC: "" }, /KAFKA_EVENTS_TOPIC/],
    ];
    for (const [more, fault] of wrong) assert.match(getFaults({ ...given, ...more }), fault);
  });

  it("read secrets from files, without the final newline", () => {
    const { bootstrap } = readConfig({
      BOOTSTRAP_USER: "a",
      BOOTSTRAP_PASSWORD_FILE: writeSecretFile("password", "secret words \n"),
    });
    assert.equal(bootstrap?.password, "secret words ");
    assert.match(
      getFaults({ BOOTSTRAP_USER: "a", BOOTSTRAP_PASSWORD_FILE: join(folder, "none") }),
      /BOOTSTRAP_PASSWORD_FILE/,
    );
    const both = {
      BOOTSTRAP_USER: "a",
      BOOTSTRAP_PASSWORD: "x",
      BOOTSTRAP_PASSWORD_FILE: writeSecretFile("other", "y"),
    };
    assert.match(getFaults(both), /both set/);
  });

  it("accept IPv6 addresses of brokers in brackets", () => {
    const brokers = "[::1]:9092,[fe80::1%eth0]:9092,host:9092";
    assert.deepEqual(readConfig({ KAFKA_BROKERS: brokers }).kafka.brokers, brokers.split(","));
    for (const wrong of ["::1:9092", "[::1]", "[::1:9092", "[host]:9092", "a b:1", "[]:9092"])
      assert.match(getFaults({ KAFKA_BROKERS: wrong }), /KAFKA_BROKERS must be host:port, with brackets/);
  });

  it("read TLS and SASL for Kafka", async () => {
    const pair = await authority.issue("client", { passphrase: "open sesame" });
    const tls = {
      KAFKA_TLS: "true",
      KAFKA_TLS_CA: writeSecretFile("ca.pem", `# a bundle\n${authority.cert}\n${authority.cert}`),
      KAFKA_TLS_CERT: writeSecretFile("cert.pem", pair.cert),
      KAFKA_TLS_KEY: writeSecretFile("key.pem", pair.key),
      KAFKA_TLS_KEY_PASSPHRASE_FILE: writeSecretFile("passphrase", "open sesame\n"),
    };
    const { kafka } = readConfig({
      ...tls,
      KAFKA_SASL_MECHANISM: "scram-sha-512",
      KAFKA_SASL_USERNAME: "u",
      KAFKA_SASL_PASSWORD: "p",
      KAFKA_RACK: "eu-1a",
    });
    assert.equal(kafka.tls?.content.key, pair.key);
    assert.equal(kafka.tls.content.passphrase, "open sesame");
    assert.equal(kafka.rack, "eu-1a");
    assert.deepEqual(kafka.sasl, {
      mechanism: "scram-sha-512",
      username: "u",
      password: { setting: "KAFKA_SASL_PASSWORD", value: "p", file: undefined },
    });
    const other = await authority.issue("other");
    const withoutPassphrase = { ...tls, KAFKA_TLS_KEY_PASSPHRASE_FILE: "" };
    const wrong: [Record<string, string>, RegExp][] = [
      [{ KAFKA_TLS_CA: tls.KAFKA_TLS_CA }, /KAFKA_TLS is not "true"/],
      [
        { ...tls, KAFKA_TLS_CA: writeSecretFile("none.pem", "CA") },
        /KAFKA_TLS_CA: \S+ contains no certificate/,
      ],
      [
        { ...tls, KAFKA_TLS_CA: writeSecretFile("half.pem", authority.cert + authority.cert.slice(0, 99)) },
        /KAFKA_TLS_CA: \S+ contains no certificate \(PEM\), or only a part of one/,
      ],
      [{ ...tls, KAFKA_TLS_KEY: join(folder, "nothing") }, /KAFKA_TLS_KEY: ENOENT/],
      [withoutPassphrase, /KAFKA_TLS_KEY: the key is encrypted, set KAFKA_TLS_KEY_PASSPHRASE/],
      [
        { ...withoutPassphrase, KAFKA_TLS_KEY_PASSPHRASE: "not it at all" },
        /KAFKA_TLS_KEY_PASSPHRASE is not the passphrase of KAFKA_TLS_KEY/,
      ],
      [
        { ...tls, KAFKA_TLS_KEY: writeSecretFile("other.pem", other.key) },
        /KAFKA_TLS_KEY is not the key of the certificate in KAFKA_TLS_CERT/,
      ],
      [{ KAFKA_SASL_MECHANISM: "plain" }, /KAFKA_SASL_USERNAME[^]*KAFKA_SASL_PASSWORD/],
      [{ KAFKA_SASL_USERNAME: "u" }, /KAFKA_SASL_MECHANISM is required/],
    ];
    for (const [settings, fault] of wrong) {
      assert.match(getFaults(settings), fault);
      assert.doesNotMatch(getFaults(settings), /not it at all|PRIVATE/);
    }
  });

  it("read OAUTHBEARER and AWS IAM for Kafka", () => {
    const tokenFile = writeSecretFile("token", "a token");
    const client = {
      KAFKA_SASL_MECHANISM: "oauthbearer",
      KAFKA_OAUTH_TOKEN_URL: "https://id.example.org/token",
      KAFKA_OAUTH_CLIENT_ID: "topicsync",
      KAFKA_OAUTH_CLIENT_SECRET: "geheim-geheim",
    };
    const extensions = "logicalCluster=lkc-1, identityPoolId=pool=1";
    assert.deepEqual(readConfig({ ...client, KAFKA_OAUTH_EXTENSIONS: extensions }).kafka.sasl, {
      mechanism: "oauthbearer",
      source: {
        tokenUrl: "https://id.example.org/token",
        clientId: "topicsync",
        clientSecret: { setting: "KAFKA_OAUTH_CLIENT_SECRET", value: "geheim-geheim", file: undefined },
        scope: undefined,
      },
      extensions: { logicalCluster: "lkc-1", identityPoolId: "pool=1" },
    });
    const inFile = { KAFKA_SASL_MECHANISM: "oauthbearer", KAFKA_OAUTH_TOKEN_FILE: tokenFile };
    assert.deepEqual(readConfig(inFile).kafka.sasl, {
      mechanism: "oauthbearer",
      source: { tokenFile: { setting: "KAFKA_OAUTH_TOKEN_FILE", value: "a token", file: tokenFile } },
      extensions: {},
    });
    const aws = { KAFKA_SASL_MECHANISM: "aws-msk-iam" };
    const wrong: [Record<string, string>, RegExp][] = [
      [
        { KAFKA_SASL_MECHANISM: "oauthbearer" },
        /KAFKA_OAUTH_TOKEN_URL or KAFKA_OAUTH_TOKEN_FILE is required/,
      ],
      [{ ...client, ...inFile }, /both set; set one of them/],
      [{ ...client, KAFKA_OAUTH_CLIENT_SECRET: "" }, /KAFKA_OAUTH_CLIENT_SECRET is required/],
      [
        { ...client, KAFKA_OAUTH_TOKEN_URL: "http://id.example.org/" },
        /KAFKA_OAUTH_TOKEN_URL must be an https/,
      ],
      [{ ...client, KAFKA_OAUTH_TOKEN_URL: "no url" }, /KAFKA_OAUTH_TOKEN_URL must be an https/],
      [{ ...client, KAFKA_OAUTH_EXTENSIONS: "auth=x" }, /KAFKA_OAUTH_EXTENSIONS must not contain auth/],
      [{ ...client, KAFKA_OAUTH_EXTENSIONS: "a=\u0001" }, /KAFKA_OAUTH_EXTENSIONS must be name=value/],
      [{ ...client, KAFKA_SASL_PASSWORD: "geheim-geheim" }, /KAFKA_SASL_PASSWORD has no effect/],
      [{ ...inFile, KAFKA_OAUTH_TOKEN_FILE: join(folder, "nothing") }, /KAFKA_OAUTH_TOKEN_FILE: ENOENT/],
      [
        { ...inFile, KAFKA_OAUTH_TOKEN_FILE: writeSecretFile("empty", "") },
        /KAFKA_OAUTH_TOKEN_FILE: .*is empty/,
      ],
      [{ KAFKA_OAUTH_TOKEN_FILE: tokenFile }, /KAFKA_SASL_MECHANISM is required/],
      [aws, /AWS_REGION is required for[^]*KAFKA_TLS must be[^]*npm install aws-msk-iam-sasl-signer-js/],
    ];
    for (const [settings, fault] of wrong) {
      assert.match(getFaults(settings), fault);
      assert.doesNotMatch(getFaults(settings), /geheim/);
    }
  });
});

describe("docs/settings.md", () => {
  it("names every setting, with its default", () => {
    const page = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");
    for (const [name, schema] of Object.entries(settingsSchema.properties)) {
      const row = page.split("\n").find((line) => line.startsWith("|") && line.includes(`\`${name}\``));
      assert.ok(row !== undefined, `${name} is in no table`);
      if ("default" in schema && !Array.isArray(schema.default))
        assert.ok(row.includes(`\`${String(schema.default)}\``), row);
    }
  });
});

describe("a .env file", () => {
  it("is overridden by the environment", () => {
    const path = writeSecretFile(".env", "HTTP_PORT=1\nLOG_LEVEL=debug # comment\n");
    assert.deepEqual(readEnvironment({ HTTP_PORT: "2" }, path), { HTTP_PORT: "2", LOG_LEVEL: "debug" });
  });

  it("is not used if other users may write to it", () => {
    const path = writeSecretFile("shared.env", "HTTP_PORT=1\n");
    chmodSync(path, 0o646);
    assert.throws(
      () => readEnvironment({}, path),
      (error) => error instanceof ConfigurationError && error.message.startsWith(`${path} may be changed`),
    );
  });

  it("is not used if it belongs to another user", (t) => {
    const path = writeSecretFile("foreign.env", "HTTP_PORT=1\n");
    const owner = statSync(path).uid;
    const { getuid } = process;
    process.getuid = () => owner + 1;
    t.after(() => Object.assign(process, { getuid }));
    // Only root can make a file another user's; root's own files are trusted.
    if (owner === 0) chownSync(path, 12_345, 12_345);
    assert.throws(
      () => readEnvironment({}, path),
      (error) => error instanceof ConfigurationError && error.message.startsWith(`${path} belongs to`),
    );
  });

  it("is not used if the folder belongs to another user", (t) => {
    const foreign = mkdtempSync(join(folder, "foreign-"));
    const path = join(foreign, ".env");
    writeFileSync(path, "HTTP_PORT=1\n");
    const owner = statSync(path).uid;
    // Only root can make a folder another user's; others see root's file in a folder that is not theirs.
    if (owner === 0) chownSync(foreign, 12_345, 12_345);
    const { getuid } = process;
    process.getuid = () => owner + 1;
    t.after(() => Object.assign(process, { getuid }));
    const place = owner === 0 ? foreign : path;
    assert.throws(
      () => readEnvironment({}, path),
      (error) => error instanceof ConfigurationError && error.message.startsWith(`${place} belongs to`),
    );
    assert.deepEqual(readEnvironment({}, join(foreign, "nothing")), {});
  });

  it("is optional", () => {
    assert.deepEqual(readEnvironment({ A: "1" }, join(folder, "nothing")), { A: "1" });
  });
});
