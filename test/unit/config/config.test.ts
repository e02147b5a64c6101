import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { ConfigurationError } from "@topicsync/lib/errors";
import { settingsSchema } from "../../../schemas/settings.ts";
import { readEnvironment, readConfig } from "../../../src/config/config.ts";
import { getFaults } from "./setting-faults.ts";

const folder = mkdtempSync(join(tmpdir(), "topicsync-config-"));
after(() => {
  rmSync(folder, { recursive: true });
});

const publicUrlFault = /^ {2}HTTP_PUBLIC_URL must be a URL(?: such as|, such as) /m;
const writeSecretFile = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

describe("the settings", () => {
  it("have the defaults of the contract", () => {
    assert.deepEqual(readConfig({}), {
      http: {
        host: "127.0.0.1",
        port: 8080,
        maxConnections: 10_000,
        publicUrl: undefined,
        allowedOrigins: [],
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
        maxEventBytes: 1_048_576,
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
      maxKeyDays: 365,
      oidc: undefined,
      signIn: undefined,
      push: {
        ...{ applications: [], platforms: [], maxTokensPerUser: undefined },
        ...{ maxUnseenDays: undefined, deleteInactiveDays: undefined },
      },
      pickerLoad: "first-use",
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

  it("are rejected in the words of environment variables, with a cause that nobody sees", () => {
    const uri = "mongodb://127.0.0.1/topicsync";
    for (const [settings, fault] of [
      [{ KAFKA_TLS: "yes" }, "KAFKA_TLS must be true or false"],
      [{ HTTP_PORT: "80a" }, "HTTP_PORT must be a whole number"],
      [{ HTTP_PORT: "tcp://10.0.0.1:80" }, 'HTTP_PORT must be a whole number, .* for a service "http"'],
      [{ MONGODB_URI: `${uri}\n` }, "MONGODB_URI must be a MongoDB URI .*, but ends with a line break"],
      [{ MONGODB_URI: `\uFEFF${uri}` }, "MONGODB_URI must be .*, but begins with a byte order mark"],
      [{ HTTP_PUBLIC_URL: " https://a.test" }, "HTTP_PUBLIC_URL must be .* white space"],
      [
        { MONGODB_URI_FILE: writeSecretFile("uri", `${uri}\r\n\n`) },
        "MONGODB_URI must be .*, but ends with a line break",
      ],
    ] as const)
      assert.match(getFaults(settings), new RegExp(`^ {2}${fault}`, "m"));
  });

  it("name the origins of other sites without a path", () => {
    const parseOrigins = (text: string) => readConfig({ HTTP_ALLOWED_ORIGINS: text }).http.allowedOrigins;
    const origins = "https://app.example.org:8443,capacitor://localhost,ionic://localhost,file://,null";
    assert.deepEqual(parseOrigins(origins), origins.split(","));
    // As browsers send them.
    assert.deepEqual(parseOrigins("https://App.example.org:443,http://münchen.example"), [
      "https://app.example.org",
      "http://xn--mnchen-3ya.example",
    ]);
    for (const wrong of [
      ...["*", "https://app.example.org/", "app.example.org", "https://*.example.org", "file:///"],
      "https://host:port",
    ])
      assert.match(getFaults({ HTTP_ALLOWED_ORIGINS: wrong }), /^ {2}HTTP_ALLOWED_ORIGINS.* an origin/m);
  });

  it("never show a secret in a fault", () => {
    const message = getFaults({
      MONGODB_URI: "mongodb://user:geheim@host",
      BOOTSTRAP_USER: "a:b",
      BOOTSTRAP_PASSWORD: "geheim",
    });
    assert.doesNotMatch(message, /geheim/);
  });

  it("normalize the public URL, which may have a path", () => {
    for (const [text, normal] of [
      ["https://topicsync.example.org/", "https://topicsync.example.org"],
      ["http://Topicsync.example.org:80", "http://topicsync.example.org"],
      ["https://example.org/topicsync", "https://example.org/topicsync"],
      ["https://example.org/a.b/topic_sync-2~/", "https://example.org/a.b/topic_sync-2~"],
    ] as const)
      assert.equal(readConfig({ HTTP_PUBLIC_URL: text }).http.publicUrl, normal);
    for (const path of [
      "//",
      "/a//b",
      "/a//",
      "/..",
      "/a/../b",
      "/.",
      "/%2e%2e",
      "/a?b",
      "/a#b",
      "\\a",
      "/a;b",
      "/é",
    ])
      assert.match(getFaults({ HTTP_PUBLIC_URL: `https://example.org${path}` }), publicUrlFault, path);
    for (const wrong of ["topicsync.example.org", "https://host:port", "https://user@host", "https://"])
      assert.match(getFaults({ HTTP_PUBLIC_URL: wrong }), publicUrlFault, wrong);
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
    assert.equal(readConfig(given).kafka.maxEventBytes, 2048);
    assert.deepEqual(readConfig(given).kafka.router, {
      topic: "events",
      deadLetterTopic: "rest",
      groupId: "own",
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
});

describe("docs/settings.md", () => {
  it("names every setting, with its default", () => {
    const page = readFileSync(new URL("../../../docs/settings.md", import.meta.url), "utf8");
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
