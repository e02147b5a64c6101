import { UnavailableError, getErrorMessage } from "../lib/errors.ts";
import { kafkaProcess } from "./kafka-process.ts";
import type { Launcher, LaunchOptions, Running, RunningBroker } from "./stack.ts";
import { mongodProcess, secantusProcess } from "./store-process.ts";

export interface ResolveOptions extends LaunchOptions {
  /** `auto` takes a container where one can be had and a local process otherwise; the others force one. */
  readonly choice: "auto" | "containers" | "local";
  /** The images of the containers; those of containers.ts when absent. */
  readonly kafkaImage?: string;
  readonly mongoImage?: string;
}

/** Starts a broker in the first way that this machine has. Throws UnavailableError, which names every way and what it lacks. */
export function startBroker(options: ResolveOptions): Promise<RunningBroker> {
  return startFirst(options, {
    what: "Kafka broker",
    setting: "KAFKA_BROKERS",
    container: async () => (await import("./containers.ts")).kafkaContainer(options.kafkaImage),
    local: [kafkaProcess],
  });
}

/** Starts a store in the first way that this machine has. Throws UnavailableError, which names every way and what it lacks. */
export function startStore(options: ResolveOptions): Promise<Running> {
  return startFirst(options, {
    what: "MongoDB store",
    setting: "MONGODB_URI",
    container: async () => (await import("./containers.ts")).mongoContainer(options.mongoImage),
    local: [mongodProcess, secantusProcess],
  });
}

interface Ways<R extends Running> {
  readonly what: string;
  /** The environment variable that makes an embedded one needless. */
  readonly setting: string;
  /** Loaded only when it is asked for: what speaks to a container engine is heavy. */
  readonly container: () => Promise<Launcher<R>>;
  readonly local: readonly Launcher<R>[];
}

async function startFirst<R extends Running>(options: ResolveOptions, ways: Ways<R>): Promise<R> {
  const { choice, report } = options;
  const container = choice === "local" ? undefined : await ways.container();
  const launchers = [...(container ? [container] : []), ...(choice === "containers" ? [] : ways.local)];
  const reasons: string[] = [];
  let cause: unknown;

  for (const launcher of launchers) {
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
      // An image that cannot be had is no reason to give up. A local server that is there but fails is: the next kind would
      // begin without its data.
      if (launcher !== container) break;
      if (choice === "auto")
        report(`${launcher.name} cannot be had, going on with a local process: ${getErrorMessage(error)}`);
    }
  }
  const list = reasons.map((reason) => `\n  - ${reason}`).join("");
  throw new UnavailableError(
    `no ${ways.what} could be started:${list}\nMend one of these, or set ${ways.setting} to use one that runs already`,
    { cause },
  );
}
