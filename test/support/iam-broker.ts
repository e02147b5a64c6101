import { join } from "node:path";

import { createAuthority } from "./authority.ts";
import { createBrokerFolder, describeKeystore, startGuardedBroker } from "./guarded-broker.ts";
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
  const { folder, writeFile } = createBrokerFolder();
  const authority = await createAuthority();
  const options = Object.entries({
    accessKey: aws.AWS_ACCESS_KEY_ID,
    secretKey: aws.AWS_SECRET_ACCESS_KEY,
    sessionToken: aws.AWS_SESSION_TOKEN,
    region,
  });
  const { address, addresses } = await startGuardedBroker(
    folder,
    { IAM: { protocol: "SASL_SSL" } },
    [
      ...describeKeystore(await authority.issue("broker"), writeFile),
      "listener.name.iam.sasl.enabled.mechanisms=OAUTHBEARER",
      "listener.name.iam.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
      "listener.name.iam.oauthbearer.sasl.server.callback.handler.class=IamBroker$Validator",
    ],
    {
      main: join(import.meta.dirname, "iam-broker/IamBroker.java"),
      flags: options.map(([name, value]) => `-Diam.${name}=${value}`),
    },
  );
  await createInternalTopics(address);
  return {
    address,
    settings: {
      KAFKA_BROKERS: addresses.IAM,
      KAFKA_TLS: "true",
      KAFKA_TLS_CA: writeFile("ca.pem", authority.cert),
      KAFKA_SASL_MECHANISM: "aws-msk-iam",
      AWS_REGION: region,
      ...aws,
    },
  };
}
