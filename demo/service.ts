import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { KafkaConfig } from "@topicsync/kafka";
import { startProcess, waitUntilReady, startBroker, startStore } from "@topicsync/embedded";
import { buildConsole } from "../console/bundle.ts";
import { readConfig } from "../src/config/config.ts";
import { printIndented } from "./story.ts";

const cli = fileURLToPath(new URL("../src/cli.ts", import.meta.url));

/** The running service, with the addresses of its broker and store. */
export interface DemoService extends AsyncDisposable {
  readonly url: string;
  readonly mongodbUri: string;
  readonly brokers: string;
  readonly kafka: KafkaConfig & { readonly brokers: readonly string[] };
}

/** Where the demo sends events, and that missing Kafka topics are created. */
const routerSettings = { KAFKA_EVENTS_TOPIC: "events", KAFKA_EGRESS_CREATE: "true" };

/** Starts the broker, the store and the service, with their data in `folder`. Disposing stops them. */
export async function startAll(
  folder: string,
  { user, password, application }: { user: string; password: string; application: string },
): Promise<DemoService> {
  await using started = new AsyncDisposableStack();
  const { stack, kafka } = readConfig({
    ...process.env,
    ...routerSettings,
    MONGODB_URI: "",
    KAFKA_BROKERS: "",
  });
  const options = { ...stack, toolsFolder: join(folder, "tools"), report: createReport() };
  const [broker, store] = await Promise.all([
    startBroker({ ...options, dataFolder: join(folder, "demo", "broker") }),
    startStore({ ...options, dataFolder: join(folder, "demo", "store") }),
  ]);
  started.defer(() => broker.stop());
  started.defer(() => store.stop());
  printIndented(`Broker: ${broker.description}. Store: ${store.description}.`);

  await buildConsole();
  const uri = new URL(store.address);
  uri.pathname = "/topicsync";
  const logFile = join(folder, "demo", "service.log");
  const service = await startProcess({
    command: process.execPath,
    args: [cli, "start"],
    logFile,
    env: {
      ...routerSettings,
      HTTP_PORT: "0",
      LOG_LEVEL: "info",
      MONGODB_URI: uri.href,
      KAFKA_BROKERS: broker.address,
      BOOTSTRAP_USER: user,
      BOOTSTRAP_PASSWORD: password,
      PUSH_APPLICATIONS: application,
      PUSH_PLATFORMS: "ios,android",
    },
  });
  started.defer(() => service.stop());
  await waitUntilReady(service, () => Promise.resolve(findReadyUrl(logFile) !== undefined), {
    name: "topicsync",
  });
  const url = findReadyUrl(logFile) ?? "";
  printIndented(`The service runs at ${url}.`);

  const running = started.move();
  return {
    url,
    mongodbUri: uri.href,
    brokers: broker.address,
    kafka: { ...kafka, brokers: broker.address.split(",") },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Reports each step once, and a long one every 10 %. */
function createReport(): (step: string, done?: number) => void {
  const reported = new Map<string, number>();
  return (step, done) => {
    const tenth = Math.floor((done ?? 0) * 10);
    if ((reported.get(step) ?? -1) >= tenth) return;
    reported.set(step, tenth);
    printIndented(done === undefined ? step : `${step}: ${tenth * 10} %`);
  };
}

/** The URL of the service from its log; undefined until it is ready. */
function findReadyUrl(logFile: string): string | undefined {
  for (const line of readFileSync(logFile, "utf8").split("\n")) {
    if (!line.includes("topicsync is ready")) continue;
    return (JSON.parse(line) as { url?: string }).url;
  }
  return undefined;
}
