import { pbkdf2Sync, randomBytes, randomUUID } from "node:crypto";
import { networkInterfaces } from "node:os";
import { after } from "node:test";

import kafkajs, { type Kafka } from "kafkajs";

import { localhost } from "@topicsync/embedded";
import { failOnError, sendRequest, type RequestTarget, stopIdleChecks } from "@topicsync/kafka/internals";
import { createAuthority, type Authority } from "./authority.ts";
import {
  createBrokerFolder,
  describeKeystore,
  startGuardedBroker,
  type WriteFile,
} from "./guarded-broker.ts";
import { startIssuer, type Issuer } from "./issuer.ts";
import { withCluster } from "./kafkajs-cluster.ts";
import { keepSecret } from "./secrets.ts";
import { createInternalTopics } from "./two-brokers.ts";

type Listener = "PLAIN" | "IPV6" | "SCRAM256" | "SCRAM512" | "MTLS" | "OAUTH" | "SHORT";

/** A broker with a listener for each way to log in, over TLS with a private authority. */
export interface SecureBroker {
  /** Needs no login and no TLS. */
  readonly address: string;
  readonly addresses: Readonly<Record<Listener, string>>;
  readonly authority: Authority;
  /** Issues the tokens of OAUTH. */
  readonly issuer: Issuer;
  /** The settings of a client of a listener. */
  readonly settings: Readonly<Record<Listener, Readonly<Record<string, string>>>>;
  /** The password of the user on PLAIN, IPV6 and SHORT, and at first on SCRAM. */
  readonly password: string;
  /** Sets the user's password on a SCRAM listener; undefined deletes it. */
  setScramPassword(listener: "SCRAM256" | "SCRAM512", password: string | undefined): Promise<void>;
  /** Whose client certificates (PEM) MTLS accepts from now on; open connections stay. */
  trustClients(...authorities: readonly string[]): Promise<void>;
  /** Allows everything to the client with a certificate for this name, or no longer. */
  setClientRights(commonName: string, isAllowed: boolean): Promise<void>;
  /** Writes a file that is removed with the broker, and returns its path. */
  readonly writeFile: WriteFile;
}

export const user = "ann";
/** Sessions on SCRAM512 and OAUTH end after this time, unless the client authenticates again. */
export const sessionMs = 15_000;
const tokenAudience = "kafka";

/** Some containers have no IPv6. There, the address is one of IPv4. */
const hasIpv6 = Object.values(networkInterfaces()).some((all = []) =>
  all.some((one) => one.address === "::1"),
);
const ipv6Host = hasIpv6 ? "[::1]" : localhost;

/** Starts the broker, stopped after the tests of this file. */
export async function startSecureBroker(): Promise<SecureBroker> {
  const { folder, writeFile } = createBrokerFolder();
  const authority = await createAuthority();
  const issuer = await startIssuer();
  const passphrase = "a passphrase for the tests";
  keepSecret(passphrase);
  const client = await authority.issue(user, { passphrase });
  const ca = writeFile("ca.pem", authority.cert);
  const password = `the password of ${randomBytes(6).toString("hex")}`;
  keepSecret(password);

  const keysUrl = `${issuer.url}/keys`;
  const overTls = { protocol: "SASL_SSL" } as const;
  const { address, addresses } = await startGuardedBroker<Listener>(
    folder,
    {
      ...{ PLAIN: overTls, IPV6: { ...overTls, host: ipv6Host }, SHORT: overTls, OAUTH: overTls },
      ...{ SCRAM256: overTls, SCRAM512: overTls, MTLS: { protocol: "SSL" } },
    },
    [
      ...describeKeystore(await authority.issue("broker"), writeFile),
      "ssl.truststore.type=PEM",
      `ssl.truststore.location=${ca}`,
      "listener.name.mtls.ssl.client.auth=required",
      "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
      `super.users=User:ANONYMOUS;User:${user};User:CN=${user}`,
      ...describePlain("plain", password),
      ...describePlain("ipv6", password),
      ...describePlain("short", password),
      "listener.name.short.plain.connections.max.reauth.ms=5000",
      ...describeScram("scram256", "scram-sha-256"),
      ...describeScram("scram512", "scram-sha-512"),
      `listener.name.scram512.scram-sha-512.connections.max.reauth.ms=${sessionMs}`,
      "listener.name.oauth.sasl.enabled.mechanisms=OAUTHBEARER",
      "listener.name.oauth.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
      "listener.name.oauth.oauthbearer.sasl.server.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
      `listener.name.oauth.sasl.oauthbearer.jwks.endpoint.url=${keysUrl}`,
      `listener.name.oauth.sasl.oauthbearer.expected.audience=${tokenAudience}`,
      `listener.name.oauth.sasl.oauthbearer.expected.issuer=${issuer.url}`,
      `listener.name.oauth.oauthbearer.connections.max.reauth.ms=${sessionMs}`,
    ],
    { flags: [`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${keysUrl}`] },
  );

  await createInternalTopics(address);
  stopIdleChecks();
  const kafka = new kafkajs.Kafka({ brokers: [address], logLevel: kafkajs.logLevel.NOTHING });
  const setScramPassword: SecureBroker["setScramPassword"] = (listener, next) => {
    keepSecret(next);
    return alterScram(kafka, listener === "SCRAM256" ? 256 : 512, next);
  };
  const admin = kafka.admin();
  await admin.connect();
  after(() => admin.disconnect());
  await setScramPassword("SCRAM256", password);
  await setScramPassword("SCRAM512", password);
  issuer.setMachine({ id: user, secret: password, audience: tokenAudience, lifetimeSeconds: 300 });

  const tls = (name: Listener) => ({
    KAFKA_BROKERS: addresses[name],
    KAFKA_TLS: "true",
    KAFKA_TLS_CA: ca,
  });
  const login = (name: Listener, mechanism: string) => ({
    ...tls(name),
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: user,
    KAFKA_SASL_PASSWORD: password,
  });
  return {
    address,
    addresses,
    authority,
    issuer,
    password,
    setScramPassword,
    writeFile,
    async trustClients(...authorities) {
      const value = writeFile(`trusted-${randomUUID()}.pem`, authorities.join("\n"));
      const configEntries = [{ name: "listener.name.mtls.ssl.truststore.location", value }];
      await admin.alterConfigs({
        validateOnly: false,
        resources: [{ type: kafkajs.ConfigResourceTypes.BROKER, name: "1", configEntries }],
      });
    },
    async setClientRights(commonName, isAllowed) {
      const acl = createAcl(`User:CN=${commonName}`);
      if (isAllowed) await admin.createAcls({ acl });
      else await admin.deleteAcls({ filters: acl });
    },
    settings: {
      PLAIN: login("PLAIN", "plain"),
      IPV6: login("IPV6", "plain"),
      SHORT: login("SHORT", "plain"),
      SCRAM256: login("SCRAM256", "scram-sha-256"),
      SCRAM512: login("SCRAM512", "scram-sha-512"),
      MTLS: {
        ...tls("MTLS"),
        KAFKA_TLS_CERT: writeFile("client.pem", client.cert),
        KAFKA_TLS_KEY: writeFile("client-key.pem", client.key),
        KAFKA_TLS_KEY_PASSPHRASE: passphrase,
      },
      OAUTH: {
        ...tls("OAUTH"),
        KAFKA_SASL_MECHANISM: "oauthbearer",
        KAFKA_OAUTH_TOKEN_URL: `${issuer.url}/token`,
        KAFKA_OAUTH_CLIENT_ID: user,
        KAFKA_OAUTH_CLIENT_SECRET: password,
        KAFKA_OAUTH_EXTENSIONS: "logicalCluster=lkc-1,identityPoolId=pool-1",
      },
    },
  };
}

/** Everything, on everything. */
const createAcl = (principal: string) =>
  (["TOPIC", "GROUP", "TRANSACTIONAL_ID", "CLUSTER"] as const).map((type) => ({
    resourceType: kafkajs.AclResourceTypes[type],
    resourceName: type === "CLUSTER" ? "kafka-cluster" : "*",
    resourcePatternType: kafkajs.ResourcePatternTypes.LITERAL,
    principal,
    host: "*",
    operation: kafkajs.AclOperationTypes.ALL,
    permissionType: kafkajs.AclPermissionTypes.ALLOW,
  }));

const describePlain = (name: string, password: string): string[] => [
  `listener.name.${name}.sasl.enabled.mechanisms=PLAIN`,
  `listener.name.${name}.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_${user}="${password}";`,
];

const describeScram = (name: string, mechanism: string): string[] => [
  `listener.name.${name}.sasl.enabled.mechanisms=${mechanism.toUpperCase()}`,
  `listener.name.${name}.${mechanism}.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;`,
];

const scramMechanisms = { 256: { code: 1, bytes: 32 }, 512: { code: 2, bytes: 64 } } as const;
const iterations = 4_096;

/** Sends AlterUserScramCredentials (KIP-554), which kafkajs does not have. */
async function alterScram(kafka: Kafka, hash: 256 | 512, password: string | undefined): Promise<void> {
  const { code, bytes } = scramMechanisms[hash];
  const deletions = password === undefined ? [user] : [];
  const upsertions = password === undefined ? [] : [password];
  await withCluster(kafka, async (cluster) => {
    await cluster.refreshMetadata();
    const broker = (await cluster.findBroker({ nodeId: 1 })) as unknown as RequestTarget;
    await sendRequest(broker, {
      apiKey: 51,
      apiVersion: 0,
      apiName: "AlterUserScramCredentials",
      isFlexible: true,
      encode(writer) {
        writer.list(deletions, (name) => writer.text(name).int8(code).end());
        writer
          .list(upsertions, (secret) => {
            const salt = randomBytes(16);
            const salted = pbkdf2Sync(secret, salt, iterations, bytes, `sha${hash}`);
            writer.text(user).int8(code).int32(iterations);
            writer.uvarint(salt.length + 1).bytes(salt);
            writer.uvarint(salted.length + 1).bytes(salted);
            writer.end();
          })
          .end();
      },
      decode(reader) {
        reader.int32();
        const results = reader.list(() => {
          reader.text();
          const error = reader.int16();
          reader.text();
          reader.end();
          return error;
        });
        results.forEach(failOnError);
        return results;
      },
    });
  });
}
