import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createLogger } from "@topicsync/lib/logger";
import { warnAboutPlaintext } from "../../../src/service/warnings.ts";
import { readConfig } from "../../../src/config/config.ts";

/** The first word of each warning about these settings. */
async function findWarnings(settings: Readonly<Record<string, string>>): Promise<(string | undefined)[]> {
  const lines: string[] = [];
  const log = await createLogger("info", { write: (line) => void lines.push(line) });
  warnAboutPlaintext(readConfig(settings), log);
  return lines.map((line) => {
    const { level, msg } = JSON.parse(line) as { level: number; msg: string };
    assert.equal(level, 40);
    return msg.split(" ", 1)[0];
  });
}

const sasl = { KAFKA_SASL_USERNAME: "u", KAFKA_SASL_PASSWORD: "p" };

describe("a start warns about", () => {
  const warned: readonly (readonly [string, string, Record<string, string>])[] = [
    ["PLAIN without TLS", "kafka", { KAFKA_SASL_MECHANISM: "plain", ...sasl }],
    [
      "a token without TLS",
      "kafka",
      { KAFKA_SASL_MECHANISM: "oauthbearer", KAFKA_OAUTH_TOKEN_FILE: import.meta.filename },
    ],
    ["MongoDB credentials without TLS", "mongodb", { MONGODB_URI: "mongodb://u:p@mongo/t" }],
    ["MongoDB's TLS turned off", "mongodb", { MONGODB_URI: "mongodb+srv://u:p@mongo.test/t?tls=false" }],
    [
      "MongoDB certificates that nobody verifies",
      "mongodb",
      { MONGODB_URI: "mongodb://u:p@mongo/t?tls=true&tlsInsecure=true" },
    ],
    ["HTTP on all interfaces", "http", { HTTP_HOST: "0.0.0.0" }],
    ["HTTP on all interfaces of IPv6", "http", { HTTP_HOST: "::" }],
    ["a public URL without TLS", "http", { HTTP_HOST: "0.0.0.0", HTTP_PUBLIC_URL: "http://example.org" }],
  ];
  for (const [title, word, settings] of warned)
    it(title, async () => {
      assert.deepEqual(await findWarnings(settings), [word]);
    });
});

describe("a start does not warn about", () => {
  const accepted: readonly (readonly [string, Record<string, string>])[] = [
    ["the defaults", {}],
    ["PLAIN over TLS", { KAFKA_SASL_MECHANISM: "plain", ...sasl, KAFKA_TLS: "true" }],
    ["SCRAM", { KAFKA_SASL_MECHANISM: "scram-sha-256", ...sasl }],
    ["MongoDB without credentials", { MONGODB_URI: "mongodb://mongo/t" }],
    ["MongoDB over TLS", { MONGODB_URI: "mongodb://u:p@mongo/t?tls=true" }],
    ["MongoDB by its DNS record", { MONGODB_URI: "mongodb+srv://u:p@mongo.test/t" }],
    ["HTTP on the loopback interface", { HTTP_HOST: "::1" }],
    ["a proxy with TLS", { HTTP_HOST: "0.0.0.0", HTTP_PUBLIC_URL: "https://example.org" }],
  ];
  for (const [title, settings] of accepted)
    it(title, async () => {
      assert.deepEqual(await findWarnings(settings), []);
    });
});
