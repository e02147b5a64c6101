import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { formatServerProperties } from "../../src/embedded/kafka-settings.ts";
import { findFreePort, localhost } from "../../src/embedded/tcp-port.ts";
import { startKafkaNode } from "./kafka-node.ts";

/** A broker with access control. */
export interface AclBroker {
  /** Allows everything to every client. */
  readonly address: string;
  /** Requires SASL/PLAIN and allows only what the ACLs of the user allow. */
  readonly guarded: string;
}

export const aclPassword = "the same for every user";

/** Starts a broker with these users, stopped after the tests of this file. */
export async function startAclBroker(users: readonly string[]): Promise<AclBroker> {
  const folder = mkdtempSync(join(tmpdir(), "topicsync-acl-broker-"));
  const [port, guardedPort, controllerPort] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  const address = `${localhost}:${port}`;
  const guarded = `${localhost}:${guardedPort}`;
  const listeners = `PLAINTEXT://${address},GUARDED://${guarded}`;
  const logins = users.map((user) => `user_${user}="${aclPassword}"`).join(" ");
  // In a properties file the last value of a key is used.
  const settings = [
    formatServerProperties({
      logs: join(folder, "logs"),
      metadata: join(folder, "metadata"),
      port,
      controllerPort,
    }),
    `listeners=${listeners},CONTROLLER://${localhost}:${controllerPort}`,
    `advertised.listeners=${listeners}`,
    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,GUARDED:SASL_PLAINTEXT",
    "inter.broker.listener.name=PLAINTEXT",
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users=User:ANONYMOUS",
    "listener.name.guarded.sasl.enabled.mechanisms=PLAIN",
    `listener.name.guarded.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required ${logins};`,
  ];
  const server = await startKafkaNode(folder, settings);
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { address, guarded };
}
