import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { readConfig } from "../src/config.ts";
import { startBroker, startStore } from "../src/stack/resolve.ts";
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

  const uri = new URL(store.address);
  uri.pathname = "/topicsync";
  const child = spawn(process.execPath, [cli, "start"], {
    stdio: ["ignore", "pipe", "inherit"],
    // A group of its own: Ctrl-C reaches the demo, which then ends the service in its turn.
    detached: true,
    env: {
      ...process.env,
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
  const ended = once(child, "exit");
  started.defer(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const url = await Promise.race([
    untilReady(child.stdout),
    ended.then(([code]) => Promise.reject(new Error(`the service ended with exit code ${String(code)}`))),
  ]);
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
function untilReady(log: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve) => {
    createInterface({ input: log }).on("line", (line) => {
      const { msg, url } = JSON.parse(line) as { msg?: string; url?: string };
      if (msg === "topicsync is ready" && url !== undefined) resolve(url);
    });
  });
}
