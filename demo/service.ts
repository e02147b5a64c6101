import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { buildConsole } from "../console/bundle.ts";
import { readConfig } from "../src/config.ts";
import { startProcess, waitUntilReady } from "../src/embedded/process.ts";
import { startBroker, startStore } from "../src/embedded/resolve.ts";
import { tell } from "./story.ts";

const cli = fileURLToPath(new URL("../src/cli.ts", import.meta.url));

/** The running service of the demo, with what it runs on. */
export interface DemoService extends AsyncDisposable {
  readonly url: string;
  readonly mongodbUri: string;
  readonly brokers: string;
  readonly announcementsTopic: string;
  readonly deadLetterTopic: string;
}

/** Starts the broker, the store and the service; data lie in `folder`. What was started ends when this is disposed of. */
export async function startAll(
  folder: string,
  { user, password, application }: { user: string; password: string; application: string },
): Promise<DemoService> {
  await using started = new AsyncDisposableStack();
  const { stack, kafka } = readConfig({ ...process.env, MONGODB_URI: "", KAFKA_BROKERS: "" });
  const options = { ...stack, toolsFolder: join(folder, "tools"), report: createReport() };
  const [broker, store] = await Promise.all([
    startBroker({ ...options, dataFolder: join(folder, "demo", "broker") }),
    startStore({ ...options, dataFolder: join(folder, "demo", "store") }),
  ]);
  started.defer(() => broker.stop());
  started.defer(() => store.stop());
  tell(`The broker is ${broker.description}, the store ${store.description}.`);

  await buildConsole();
  const uri = new URL(store.address);
  uri.pathname = "/topicsync";
  const logFile = join(folder, "demo", "service.log");
  const service = await startProcess({
    command: process.execPath,
    args: [cli, "start"],
    logFile,
    env: {
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
  await waitUntilReady(service, () => Promise.resolve(readyUrl(logFile) !== undefined), {
    name: "topicsync",
  });
  const url = readyUrl(logFile) ?? "";
  tell(`The service answers at ${url}.`);

  const running = started.move();
  return {
    url,
    mongodbUri: uri.href,
    brokers: broker.address,
    announcementsTopic: kafka.announcementsTopic,
    deadLetterTopic: kafka.deadLetterTopic,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Says each step once, and of a long one each tenth. */
function createReport(): (step: string, done?: number) => void {
  const said = new Map<string, number>();
  return (step, done) => {
    const tenth = Math.floor((done ?? 0) * 10);
    if ((said.get(step) ?? -1) >= tenth) return;
    said.set(step, tenth);
    tell(done === undefined ? step : `${step}: ${tenth * 10} %`);
  };
}

/** The URL of the service, once its log says that it is ready. */
function readyUrl(logFile: string): string | undefined {
  for (const line of readFileSync(logFile, "utf8").split("\n")) {
    if (!line.includes("topicsync is ready")) continue;
    return (JSON.parse(line) as { url?: string }).url;
  }
  return undefined;
}
