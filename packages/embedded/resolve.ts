import { UnavailableError, getErrorMessage } from "@topicsync/lib/errors";
import { kafkaProcess } from "./kafka-process.ts";
import type { Launcher, LaunchOptions, Running } from "./stack.ts";
import { mongodProcess, secantusProcess } from "./store-process.ts";

export interface ResolveOptions extends LaunchOptions {
  /**
   * `auto` prefers a container and falls back to a local process; the others allow only one of the two, or
   * none.
   */
  readonly choice: "auto" | "containers" | "local" | "none";
  /** The images of the containers. */
  readonly kafkaImage: string;
  readonly mongoImage: string;
}

/**
 * Starts a broker with the first launcher that works here. Throws UnavailableError, with the reason of each
 * that does not.
 */
export function startBroker(options: ResolveOptions): Promise<Running> {
  return startFirst(options, {
    what: "Kafka broker",
    setting: "KAFKA_BROKERS",
    container: async () => (await import("./containers.ts")).createKafkaLauncher(options.kafkaImage),
    local: [kafkaProcess],
  });
}

/** Starts a store, as startBroker does. */
export function startStore(options: ResolveOptions): Promise<Running> {
  return startFirst(options, {
    what: "MongoDB store",
    setting: "MONGODB_URI",
    container: async () => (await import("./containers.ts")).createMongoLauncher(options.mongoImage),
    local: [mongodProcess, secantusProcess],
  });
}

interface Launchers {
  readonly what: string;
  /** The environment variable of an external server. */
  readonly setting: string;
  /** Imported on first use, since the client of container engines is slow to load. */
  readonly container: () => Promise<Launcher>;
  readonly local: readonly Launcher[];
}

async function startFirst(options: ResolveOptions, launchers: Launchers): Promise<Running> {
  const { choice, report } = options;
  if (choice === "none")
    throw new UnavailableError(
      `TOPICSYNC_STACK is "none": set ${launchers.setting} to use a running ${launchers.what}`,
    );
  const container = choice === "local" ? undefined : await launchers.container();
  const candidates = [...(container ? [container] : []), ...(choice === "containers" ? [] : launchers.local)];
  const reasons: string[] = [];
  let cause: unknown;

  for (const launcher of candidates) {
    const missing = await launcher.findMissing();
    if (missing !== undefined) {
      reasons.push(`${launcher.name}: ${missing}`);
      continue;
    }
    try {
      return await launcher.start(options);
    } catch (error) {
      cause = error;
      reasons.push(`${launcher.name}: ${getErrorMessage(error)}`);
      // After an unavailable image, try a local process. After a local server that is installed but fails,
      // stop: the next kind would start without its data.
      if (launcher !== container) break;
      if (choice === "auto")
        report(`${launcher.name} failed, falling back to a local process: ${getErrorMessage(error)}`);
    }
  }
  const list = reasons.map((reason) => `\n  - ${reason}`).join("");
  throw new UnavailableError(
    `no ${launchers.what} could be started:${list}\nFix one of these, or set ${launchers.setting} to use a running one`,
    { cause },
  );
}
