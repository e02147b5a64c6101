import { Command, Option } from "commander";

import { httpFloor, httpService, parseServer, type Registrar } from "./contestants.ts";
import { findLoadGenerator } from "./load.ts";
import { isInvalid, measureRegistrar, warmUp, type Measurement } from "./measure.ts";
import { compareRegistrars } from "./comparison.ts";
import { reportRegistrars } from "./report.ts";
import { commonOptions, positive, positives, type CommonOptions } from "../support/options.ts";
import { print, progress, type Report } from "../support/report.ts";
import { startStack, type BenchStack } from "../support/stack.ts";

interface HttpOptions extends CommonOptions {
  readonly connections: readonly number[];
  readonly seconds: number;
  readonly rounds: number;
  readonly pool: number;
  readonly peer: boolean;
}

/** `bench http`: registrations per second of the service, of a floor and of Parse Server. */
export const httpCommand = (): Command => {
  const command = new Command("http").description(
    "registrations per second of the service, of the floor (bare Express, one upsert a request) and of Parse Server",
  );
  command.option("--connections <list>", "connections at once", positives, [1, 64]);
  command.option("--seconds <n>", "for how long each measurement loads", positive, 30);
  command.option("--rounds <n>", "measurements of each kind; the median counts", positive, 3);
  command.option("--pool <n>", "number of tokens that are registered repeatedly", positive, 2_000);
  command.addOption(new Option("--no-peer", "leave Parse Server out"));
  for (const option of commonOptions()) command.addOption(option);
  return command.action(async (options: HttpOptions) => {
    await using stack = await startStack(options.store, { forLatency: true });
    print(await measureHttp(stack, options), stack.broker.description, options);
  });
};

const tokenKinds = ["new", "repeated"] as const;

/** Measures every registrar on every store of the stack. */
async function measureHttp(stack: BenchStack, options: HttpOptions): Promise<Report[]> {
  const generator = await findLoadGenerator(stack.toolsFolder);
  const measurements: Measurement[] = [];
  const registrars = [httpFloor, httpService, ...(options.peer ? [parseServer] : [])];
  for (const store of stack.stores) {
    progress(`${store.description}: warming up`);
    await measureRegistrar(stack, { store, registrar: httpFloor, generator, ...warmUp, pool: undefined });
    for (const plan of plans(options, registrars)) {
      const { registrar, connections, tokens, round } = plan;
      const pool = tokens === "repeated" ? options.pool : undefined;
      const load = { connections, seconds: options.seconds, pool };
      const found = await measureRegistrar(stack, { store, registrar, generator, ...load });
      progress(
        `${store.description}, round ${round} of ${options.rounds}, ${connections} connections, ${tokens} tokens: ` +
          `${registrar.name} ${Math.round(found.perSecond)}/s, p99 ${found.p99.toFixed(1)} ms`,
      );
      measurements.push({ store, connections, tokens, round, registrar: registrar.name, found });
    }
  }
  if (measurements.some(({ found }) => isInvalid(found))) process.exitCode = 1;
  return [
    reportRegistrars(measurements, { generator: generator.name, ...options }),
    compareRegistrars(measurements),
  ];
}

interface Plan {
  readonly registrar: Registrar;
  readonly connections: number;
  readonly tokens: Measurement["tokens"];
  readonly round: number;
}

/** Those that are compared come one after another; each is first, second and last in turn. */
function* plans({ rounds, connections }: HttpOptions, registrars: readonly Registrar[]): Generator<Plan> {
  for (let round = 1; round <= rounds; round += 1) {
    const turn = round % registrars.length;
    for (const count of connections)
      for (const tokens of tokenKinds)
        for (const registrar of [...registrars.slice(turn), ...registrars.slice(0, turn)])
          yield { registrar, connections: count, tokens, round };
  }
}
