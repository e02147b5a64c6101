/**
 * What the simulated worlds share: a clock, chance, a store, a network, processes that die and are started
 * again.
 */
import type { Logger } from "pino";

import { replacePlatform, type Platform } from "../../src/lib/platform.ts";
import { toDatabase, type Database } from "../../src/storage/database.ts";
import { createClock, createHost, type Clock, type Host } from "./clock.ts";
import { createMongoClient } from "./mongo/client.ts";
import type { Dialect, ServerOptions } from "./mongo/commands.ts";
import { MongoServer } from "./mongo/server.ts";
import { createNetwork, type Network } from "./network.ts";
import { Violation } from "./violation.ts";
import { createRandom, type Random } from "./random.ts";
import { isFault, type Fault, type Step } from "./steps.ts";

export interface WorldResult {
  readonly faults: number;
  readonly events: number;
  readonly checks: number;
  readonly virtualMs: number;
  /** How often each line was logged. */
  readonly lines: ReadonlyMap<string, number>;
  /** The same for every run of the same seed and steps. */
  readonly digest: string;
}

export type OnTrace = (line: string) => void;

/** A process that runs the product. `Service` is what it has started. */
export interface Process<Service> {
  readonly host: Host;
  service: Service | undefined;
}

export interface World<Service> {
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
  readonly server: MongoServer;
  readonly storeHost: Host;
  readonly brokerHost: Host;
  readonly log: Logger;
  /** Creates the access of a machine to the store. */
  readonly openDatabase: (host: Host) => Database;
  readonly trace: (getText: () => string) => void;
  /** Adds to the digest. */
  readonly note: (text: string) => void;
  /** Runs a check. A violation ends the run; the product does not get to see it. */
  readonly runCheck: (check: () => void) => void;
  readonly getProcess: (index: number) => Process<Service>;
  /** Performs steps, each after its pause. */
  readonly perform: <A extends { readonly do: string }>(
    steps: readonly Step<A>[],
    act: (action: A) => void,
  ) => Promise<void>;
  readonly injectFault: (fault: Fault) => void;
  /** Ends all faults. */
  readonly heal: () => void;
  readonly getResult: (checks: number) => WorldResult;
}

export interface WorldOptions<Service> {
  readonly seed: number;
  readonly onTrace: OnTrace | undefined;
  /** Starts the product in a new process. */
  readonly start: (process: Process<Service>) => Promise<void>;
  /** Ends it in an orderly way. */
  readonly stop: (service: Service) => Promise<void>;
  /** Called some time after a process has died. */
  readonly onGone: (host: Host) => void;
  /** Whether the product may log an error; by default it never may. */
  readonly mayLogError?: (message: string) => boolean;
  /** Called with the details of each line that is logged. */
  readonly onLogged?: (details: LineDetails) => void;
}

export const startOfTime = Date.UTC(2026, 0, 1);

/**
 * Time and randomness of a simulated world. `ids`: a separate generator for ids, so that they do not change
 * with other random choices.
 */
export const createSimulatedPlatform = (
  clock: Clock,
  { random, ids }: { readonly random: Random; readonly ids: Random },
): Platform => ({
  now: () => startOfTime + Math.floor(clock.getTime() + clock.getHost().skewMs),
  elapsed: clock.getTime,
  schedule: (delayMs, action) => clock.schedule(clock.getHost(), delayMs, action),
  scheduleSoon: (action) => clock.schedule(clock.getHost(), 0, action),
  random: random.next,
  fillRandom(bytes) {
    for (let index = 0; index < bytes.length; index += 1) bytes[index] = ids.between(0, 256);
  },
});

export function createWorld<Service>(options: WorldOptions<Service>): World<Service> {
  const { seed, onTrace, start, stop, onGone, mayLogError = () => false, onLogged } = options;
  const random = createRandom(seed);
  const ids = createRandom(seed + 1);
  const storeSettings: ServerOptions = {
    isReplicaSet: !random.chance(0.1),
    dialect: random.pick<Dialect>(["mongodb", "mongodb", "unnamed-index", "conflict-in-transaction"]),
    canKillSessions: random.chance(0.8),
  };
  const outside = createHost("world");
  const clock = createClock(outside);
  const storeHost = createHost("store");
  const brokerHost = createHost("broker");
  const network = createNetwork(clock, random);
  const server = new MongoServer({ clock, random, host: storeHost }, storeSettings);
  let digest = 0;
  let faults = 0;
  let started = 0;
  const lines = new Map<string, number>();

  replacePlatform(createSimulatedPlatform(clock, { random, ids }));

  function trace(getText: () => string): void {
    onTrace?.(`${clock.getTime().toFixed(1).padStart(9)} ${clock.getHost().name.padEnd(13)} ${getText()}`);
  }

  const onLine: WriteLine = (details, message) => {
    lines.set(message, (lines.get(message) ?? 0) + 1);
    trace(() => `${message} ${JSON.stringify(details)}`);
    onLogged?.(details);
  };
  const log = createLog(onLine, (details, message) => {
    if (mayLogError(message)) onLine(details, message);
    else clock.fail(new Violation(`${message}: ${String(details.err)}`, { cause: details.err }));
  });

  function startProcess(): Process<Service> {
    started += 1;
    const host = createHost(`process ${started}`, random.between(-50, 50));
    const process: Process<Service> = { host, service: undefined };
    clock.schedule(host, 0, () => {
      start(process).catch(clock.fail);
    });
    return process;
  }

  const processes = [startProcess(), startProcess()];

  function getProcess(index: number): Process<Service> {
    const process = processes[index];
    if (process === undefined) throw new Error(`there is no process ${index}`);
    return process;
  }

  function replace(index: number, process: Process<Service>): void {
    if (processes[index] === process) processes[index] = startProcess();
  }

  const getServer = (name: "store" | "broker"): Host => (name === "store" ? storeHost : brokerHost);

  trace(() => JSON.stringify(storeSettings));

  return {
    clock,
    random,
    network,
    server,
    storeHost,
    brokerHost,
    log,
    openDatabase: (host) => toDatabase(createMongoClient({ clock, random, network, server, host }), log),
    trace,
    note(text) {
      for (const character of text) digest = (Math.imul(digest, 31) + character.charCodeAt(0)) | 0;
    },
    runCheck(check) {
      try {
        check();
      } catch (error) {
        clock.fail(error);
      }
    },
    getProcess,
    async perform(steps, act) {
      for (const step of steps) {
        await clock.runUntil(clock.getTime() + step.afterMs);
        if (isFault(step)) faults += 1;
        trace(() => JSON.stringify(step.action));
        act(step.action);
      }
    },
    injectFault(fault) {
      switch (fault.do) {
        case "kill": {
          const process = getProcess(fault.process);
          process.host.alive = false;
          clock.schedule(brokerHost, fault.noticedMs, () => {
            onGone(process.host);
          });
          clock.schedule(outside, fault.restartMs, () => {
            replace(fault.process, process);
          });
          break;
        }
        case "stop": {
          const process = getProcess(fault.process);
          clock.schedule(process.host, 0, () => {
            if (process.service !== undefined) stop(process.service).catch(clock.fail);
          });
          clock.schedule(outside, fault.restartMs, () => {
            process.host.alive = false;
            onGone(process.host);
            replace(fault.process, process);
          });
          break;
        }
        case "freeze":
          getProcess(fault.process).host.frozenUntil = clock.getTime() + fault.ms;
          break;
        case "disturb":
          network.disturb(getProcess(fault.process).host, getServer(fault.server), fault.fault);
          break;
        case "cut":
          network.cut(getProcess(fault.process).host, getServer(fault.server), fault.ms);
          break;
        case "elect":
          server.elect(fault.downMs, fault.losesUnreplicated);
          break;
        case "stall replication":
          server.stallReplication(fault.ms);
          break;
      }
    },
    heal() {
      network.heal();
      for (const { host } of processes) host.frozenUntil = 0;
    },
    getResult: (checks) => ({
      faults: faults + network.countDisturbed(),
      events: clock.countEvents(),
      checks,
      virtualMs: clock.getTime(),
      lines,
      digest: `${(digest >>> 0).toString(16)}-${clock.countEvents()}`,
    }),
  };
}

interface LineDetails {
  readonly err?: unknown;
  readonly reason?: string;
}

type WriteLine = (details: LineDetails, message: string) => void;

/** The product logs an error only for what should not happen. */
function createLog(write: WriteLine, error: WriteLine): Logger {
  const log = { child: () => log, debug: () => undefined, info: write, warn: write, error };
  return log as unknown as Logger;
}
