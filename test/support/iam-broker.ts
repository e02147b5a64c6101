import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { formatServerProperties } from "../../src/embedded/kafka-settings.ts";
import { findFreePort, localhost } from "../../src/embedded/tcp-port.ts";
import { createAuthority } from "./authority.ts";
import { startKafkaNode } from "./kafka-node.ts";
import { keepSecret } from "./secrets.ts";
import { createInternalTopics } from "./two-brokers.ts";

/** A broker that verifies tokens of AWS MSK itself; see IamBroker.java. */
export interface IamBroker {
  /** Needs no login and no TLS. */
  readonly address: string;
  /** The settings of a client. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Credentials of no account. */
export const aws = {
  AWS_ACCESS_KEY_ID: "ASIATOPICSYNCTEST",
  AWS_SECRET_ACCESS_KEY: "a/secret+key of the tests",
  AWS_SESSION_TOKEN: "a/session+token=",
  // Without credentials, the AWS SDK would ask the machine's network for them.
  AWS_EC2_METADATA_DISABLED: "true",
} as const;
keepSecret(aws.AWS_SECRET_ACCESS_KEY);

const region = "eu-central-1";

/** Starts the broker, stopped after the tests of this file. */
export async function startIamBroker(): Promise<IamBroker> {
  const folder = mkdtempSync(join(tmpdir(), "topicsync-iam-broker-"));
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const authority = await createAuthority();
  const server = await authority.issue("broker");
  const [port, iamPort, controllerPort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const [address, guarded] = [`${localhost}:${port}`, `${localhost}:${iamPort}`];
  const listeners = `PLAINTEXT://${address},IAM://${guarded}`;
  const options = Object.entries({
    accessKey: aws.AWS_ACCESS_KEY_ID,
    secretKey: aws.AWS_SECRET_ACCESS_KEY,
    sessionToken: aws.AWS_SESSION_TOKEN,
    region,
  });
  const broker = await startKafkaNode(
    folder,
    [
      formatServerProperties({
        logs: join(folder, "logs"),
        metadata: join(folder, "metadata"),
        port,
        controllerPort,
      }),
      `listeners=${listeners},CONTROLLER://${localhost}:${controllerPort}`,
      `advertised.listeners=${listeners}`,
      "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,IAM:SASL_SSL",
      "inter.broker.listener.name=PLAINTEXT",
      "ssl.keystore.type=PEM",
      `ssl.keystore.location=${write("server.pem", `${server.key}\n${server.cert}`)}`,
      "listener.name.iam.sasl.enabled.mechanisms=OAUTHBEARER",
      "listener.name.iam.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
      "listener.name.iam.oauthbearer.sasl.server.callback.handler.class=IamBroker$Validator",
    ],
    {
      main: join(import.meta.dirname, "iam-broker/IamBroker.java"),
      flags: options.map(([name, value]) => `-Diam.${name}=${value}`),
    },
  );
  after(async () => {
    await broker.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await createInternalTopics(address);
  return {
    address,
    settings: {
      KAFKA_BROKERS: guarded,
      KAFKA_TLS: "true",
      KAFKA_TLS_CA: write("ca.pem", authority.cert),
      KAFKA_SASL_MECHANISM: "aws-msk-iam",
      AWS_REGION: region,
      ...aws,
    },
  };
}
