import type { ConnectionOptions } from "node:tls";

import type { KafkaConfig as KafkaJsConfig, Mechanism, SASLOptions } from "kafkajs";

import type { Logger } from "@topicsync/lib/logger";
import { Rotated } from "@topicsync/lib/concurrency/rotated";
import { followSecret, readSecretFile } from "@topicsync/lib/secret";
import { readClientTls } from "@topicsync/lib/tls";
import type { KafkaSaslConfig, KafkaTlsConfig } from "./interface/config.ts";
import { LoginError } from "./errors.ts";
import { createGetToken, type GetToken } from "./tokens.ts";

/** Returns a function that returns the current content of the TLS files. */
export function followTls(
  tls: KafkaTlsConfig | undefined,
  log: Logger,
): (() => ConnectionOptions) | undefined {
  if (tls === undefined) return undefined;
  const { files, passphrase, content } = tls;
  const read = () => {
    const faults: string[] = [];
    const { setting = "", value, file } = passphrase ?? {};
    const current = file === undefined ? value : readSecretFile(file);
    const found = readClientTls(files, { setting, value: current }, faults);
    if (faults.length > 0) throw new Error(faults.join("; "));
    return found;
  };
  const setting = Object.values(files)
    .map((named) => named.setting)
    .join(", ");
  const rotated = new Rotated({ setting, initial: content, read, log });
  return () => rotated.get();
}

/** Returns the options of kafkajs. What rotates is read for each authentication. */
export function createSasl(config: KafkaSaslConfig, log: Logger): NonNullable<KafkaJsConfig["sasl"]> {
  if (!("username" in config)) {
    const getToken = createGetToken(config, log);
    return config.mechanism === "oauthbearer"
      ? createBearerMechanism(
          getToken,
          "the issuer, audience, scope and lifetime of the token",
          config.extensions,
        )
      : createBearerMechanism(getToken, "the AWS credentials and AWS_REGION, and the clock");
  }
  const getPassword = followSecret(config.password, log);
  const options = {
    mechanism: config.mechanism,
    username: config.username,
    get password() {
      return getPassword();
    },
  };
  return options as SASLOptions;
}

/**
 * The mechanism OAUTHBEARER (RFC 7628). That of kafkajs takes the broker's rejection of a token for a
 * success.
 */
function createBearerMechanism(
  getToken: GetToken,
  cure: string,
  extensions: Readonly<Record<string, string>> = {},
): Mechanism {
  const more = Object.entries(extensions).map(([name, value]) => `${name}=${value}\u0001`);
  return {
    mechanism: "oauthbearer",
    authenticationProvider: ({ saslAuthenticate }) => ({
      async authenticate() {
        const token = await getToken();
        const message = `n,,\u0001auth=Bearer ${token}\u0001${more.join("")}\u0001`;
        const rejection = await saslAuthenticate({
          request: { encode: () => withSize(Buffer.from(message)) },
          response: { decode: (bytes) => bytes, parse: (bytes) => bytes.subarray(sizeBytes).toString() },
        });
        if (rejection !== undefined && rejection !== "") throw new LoginError(`${rejection}: check ${cure}`);
      },
    }),
  };
}

const sizeBytes = 4;

/** kafkajs takes authentication bytes as they are sent: after their size. */
function withSize(bytes: Buffer): Buffer {
  const size = Buffer.alloc(sizeBytes);
  size.writeInt32BE(bytes.length);
  return Buffer.concat([size, bytes]);
}
