import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { formatServerProperties, findFreePort, localhost } from "@topicsync/embedded";
import { startKafkaNode, type JavaOptions } from "./kafka-node.ts";

export type WriteFile = (name: string, text: string) => string;

/** Creates a folder, removed after the tests of this file. Returns what writes files into it. */
export function createBrokerFolder(): { readonly folder: string; readonly writeFile: WriteFile } {
  const folder = mkdtempSync(join(tmpdir(), "topicsync-guarded-broker-"));
  return {
    folder,
    writeFile(name, text) {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    },
  };
}

interface Guard {
  readonly protocol: "SASL_PLAINTEXT" | "SASL_SSL" | "SSL";
  /** By default, the local host of IPv4. */
  readonly host?: string;
}

interface GuardedBroker<Name extends string> {
  /** Needs no login and no TLS. */
  readonly address: string;
  readonly addresses: Readonly<Record<Name, string>>;
}

/**
 * Starts a broker in a folder with a listener for everybody and those whose names are given, stopped after
 * the tests of this file. `settings`: further lines of its properties; the last value of a key is used.
 */
export async function startGuardedBroker<Name extends string>(
  folder: string,
  guards: Readonly<Record<Name, Guard>>,
  settings: readonly string[],
  options?: JavaOptions,
): Promise<GuardedBroker<Name>> {
  const [port, controllerPort] = [await findFreePort(), await findFreePort()];
  const address = `${localhost}:${port}`;
  const addresses = {} as Record<Name, string>;
  const names = Object.keys(guards) as Name[];
  for (const name of names) addresses[name] = `${guards[name].host ?? localhost}:${await findFreePort()}`;
  const listeners = [`PLAINTEXT://${address}`, ...names.map((name) => `${name}://${addresses[name]}`)].join();
  const protocols = names.map((name) => `,${name}:${guards[name].protocol}`).join("");
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
      `listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT${protocols}`,
      "inter.broker.listener.name=PLAINTEXT",
      ...settings,
    ],
    options,
  );
  after(async () => {
    await broker.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { address, addresses };
}

/** The settings of a broker that proves to be itself with a certificate. */
export const describeKeystore = (
  { key, cert }: { readonly key: string; readonly cert: string },
  writeFile: WriteFile,
): string[] => [
  "ssl.keystore.type=PEM",
  `ssl.keystore.location=${writeFile("server.pem", `${key}\n${cert}`)}`,
];
