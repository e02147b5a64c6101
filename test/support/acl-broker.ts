import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import {
  buildJavaArgs,
  prepareClassArchive,
  prepareKafkaJava,
  runClass,
} from "../../src/embedded/kafka-java.ts";
import {
  kafkaReadyLine,
  loggingProperties,
  formatServerProperties,
} from "../../src/embedded/kafka-settings.ts";
import { findFreePort, localhost } from "../../src/embedded/tcp-port.ts";
import { startProcess, waitUntilReady } from "../../src/embedded/process.ts";
import { toolsFolder } from "../unit/embedded/local.ts";

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
  const file = join(folder, "server.properties");
  const logging = join(folder, "log4j2.properties");
  writeFileSync(file, settings.join("\n"));
  writeFileSync(logging, loggingProperties);

  const java = await prepareKafkaJava({ toolsFolder, report: () => undefined });
  const flags = [`-Dlog4j2.configurationFile=${logging}`];
  const args = ["format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", "--config", file];
  await runClass(java, { mainClass: "kafka.tools.StorageTool", args, flags });
  const archive = prepareClassArchive(java);
  const server = await startProcess({
    command: java.command,
    args: [...buildJavaArgs(java, "kafka.Kafka", ["-Xmx512m", ...archive.flags, ...flags]), file],
    logFile: join(folder, "kafka.log"),
  });
  after(async () => {
    await server.stop();
    await archive.keep();
    rmSync(folder, { recursive: true, force: true });
  });
  await waitUntilReady(server, async () => (await server.readLastOutput()).includes(kafkaReadyLine), {
    name: "the broker with access control",
  });
  return { address, guarded };
}
