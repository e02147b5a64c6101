import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { readConfig } from "../../../src/config/config.ts";
import { createAuthority } from "../../support/authority.ts";
import { useFolder } from "../../support/folder.ts";
import { getFaults } from "./setting-faults.ts";

const folder = useFolder();
const authority = await createAuthority();

describe("the settings of Kafka", () => {
  it("accept IPv6 addresses of brokers in brackets", () => {
    const brokers = "[::1]:9092,[fe80::1%eth0]:9092,host:9092";
    assert.deepEqual(readConfig({ KAFKA_BROKERS: brokers }).kafka.brokers, brokers.split(","));
    for (const wrong of ["::1:9092", "[::1]", "[::1:9092", "[host]:9092", "a b:1", "[]:9092"])
      assert.match(getFaults({ KAFKA_BROKERS: wrong }), /KAFKA_BROKERS must be host:port, with brackets/);
  });

  it("read TLS and SASL", async () => {
    const pair = await authority.issue("client", { passphrase: "open sesame" });
    const tls = {
      KAFKA_TLS: "true",
      KAFKA_TLS_CA: folder.createFile("ca.pem", `# a bundle\n${authority.cert}\n${authority.cert}`),
      KAFKA_TLS_CERT: folder.createFile("cert.pem", pair.cert),
      KAFKA_TLS_KEY: folder.createFile("key.pem", pair.key),
      KAFKA_TLS_KEY_PASSPHRASE_FILE: folder.createFile("passphrase", "open sesame\n"),
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
        { ...tls, KAFKA_TLS_CA: folder.createFile("none.pem", "CA") },
        /KAFKA_TLS_CA: \S+ contains no certificate/,
      ],
      [
        { ...tls, KAFKA_TLS_CA: folder.createFile("half.pem", authority.cert + authority.cert.slice(0, 99)) },
        /KAFKA_TLS_CA: \S+ contains no certificate \(PEM\), or only a part of one/,
      ],
      [{ ...tls, KAFKA_TLS_KEY: join(folder.path, "nothing") }, /KAFKA_TLS_KEY: ENOENT/],
      [withoutPassphrase, /KAFKA_TLS_KEY: the key is encrypted, set KAFKA_TLS_KEY_PASSPHRASE/],
      [
        { ...withoutPassphrase, KAFKA_TLS_KEY_PASSPHRASE: "not it at all" },
        /KAFKA_TLS_KEY_PASSPHRASE is not the passphrase of KAFKA_TLS_KEY/,
      ],
      [
        { ...tls, KAFKA_TLS_KEY: folder.createFile("other.pem", other.key) },
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

  it("read OAUTHBEARER and AWS IAM", () => {
    const tokenFile = folder.createFile("token", "a token");
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
      [{ ...inFile, KAFKA_OAUTH_TOKEN_FILE: join(folder.path, "nothing") }, /KAFKA_OAUTH_TOKEN_FILE: ENOENT/],
      [
        { ...inFile, KAFKA_OAUTH_TOKEN_FILE: folder.createFile("empty", "") },
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
