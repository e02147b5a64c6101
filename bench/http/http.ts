import { Command, Option } from "commander";

import { httpFloor, httpService, parseServer, type RegistrationServer } from "./contestants.ts";
import { findLoadGenerator, type LoadGenerator } from "./load.ts";
import { isInvalid, measureServer, warmUp, type Measurement } from "./measure.ts";
import { compareServers, reportServers } from "./report.ts";
import {
  createCommonOptions,
  parsePositive,
  parsePositives,
  type CommonOptions,
} from "../support/options.ts";
import { printReports, reportProgress, type Report } from "../support/report.ts";
import { startStack, type BenchStack } from "../support/stack.ts";

interface HttpOptions extends CommonOptions {
  readonly connections: readonly number[];
  readonly seconds: number;
  readonly rounds: number;
  readonly pool: number;
  readonly peer: boolean;
}

export const httpCommand = (): Command => {
  const command = new Command("http").description(
    "registrations per second of the service, a floor (plain Express, one upsert per request) and Parse Server",
  );
  command.option("--connections <list>", "comma-separated numbers of connections", parsePositives, [1, 64]);
  command.option("--seconds <n>", "duration of each measurement in seconds", parsePositive, 30);
  command.option("--rounds <n>", "measurements of each kind; the median is reported", parsePositive, 3);
  command.option("--pool <n>", "tokens that are registered repeatedly", parsePositive, 2_000);
  command.addOption(new Option("--no-peer", "omit Parse Server"));
  for (const option of createCommonOptions()) command.addOption(option);
  return command.action(async (options: HttpOptions) => {
    await using stack = await startStack(options.store, { forLatency: true });
    printReports(await measureHttp(stack, options), stack.broker.description, options);
  });
};

const tokenKinds = ["new", "repeated"] as const;

async function measureHttp(stack: BenchStack, options: HttpOptions): Promise<Report[]> {
  const generator = await findLoadGenerator(stack.toolsFolder);
  const servers = [httpFloor, httpService, ...(options.peer ? [parseServer] : [])];
  const measurements = await measureServers(stack, { ...options, servers, generator });
  return [
    reportServers(measurements, { generator: generator.name, ...options }),
    compareServers(measurements),
  ];
}

interface Plans extends Pick<HttpOptions, "connections" | "seconds" | "rounds" | "pool"> {
  readonly servers: readonly RegistrationServer[];
  readonly generator: LoadGenerator;
}

/**
 * Measures servers in turns, with new and with repeated tokens. Sets the exit code if a measurement is
 * invalid.
 */
export async function measureServers(stack: BenchStack, options: Plans): Promise<Measurement[]> {
  const { generator } = options;
  const measurements: Measurement[] = [];
  for (const store of stack.stores) {
    reportProgress(`${store.description}: warming up`);
    await measureServer(stack, { store, server: httpFloor, generator, ...warmUp, pool: undefined });
    for (const plan of createPlans(options)) {
      const { server, connections, tokens, round } = plan;
      const pool = tokens === "repeated" ? options.pool : undefined;
      const load = { connections, seconds: options.seconds, pool };
      const found = await measureServer(stack, { store, server, generator, ...load });
      reportProgress(
        `${store.description}, round ${round} of ${options.rounds}, ${connections} connections, ${tokens} tokens: ` +
          `${server.name} ${Math.round(found.perSecond)}/s, p99 ${found.p99.toFixed(1)} ms`,
      );
      measurements.push({ store, connections, tokens, round, server: server.name, found });
    }
  }
  if (measurements.some(({ found }) => isInvalid(found))) process.exitCode = 1;
  return measurements;
}

interface Plan {
  readonly server: RegistrationServer;
  readonly connections: number;
  readonly tokens: Measurement["tokens"];
  readonly round: number;
}

/** Measures the servers one after another, and rotates their order from round to round. */
function* createPlans({ rounds, connections, servers }: Plans): Generator<Plan> {
  for (let round = 1; round <= rounds; round += 1) {
    const turn = round % servers.length;
    for (const count of connections)
      for (const tokens of tokenKinds)
        for (const server of [...servers.slice(turn), ...servers.slice(0, turn)])
          yield { server, connections: count, tokens, round };
  }
}
