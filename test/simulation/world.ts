/**
 * What the simulated worlds share: a clock, chance, a store, a network, processes that die and are started
 * again.
 */
import type { Logger } from "pino";

import { replacePlatform } from "@topicsync/lib/platform";
import { dropUnusedBytes } from "@topicsync/lib/sys-id";
import { clientOptions } from "../../src/storage/database/client-options.ts";
import { toDatabase, type Database } from "../../src/storage/database/database.ts";
import {
  createClock,
  createHost,
  createMongoClient,
  createRandom,
  createSimulatedPlatform,
  MongoServer,
  Network,
  type Clock,
  type Dialect,
  type Host,
  type Random,
  type ServerOptions,
} from "../simulated-servers/index.ts";
import { Violation } from "./violation.ts";
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

type End = Extract<Fault, { readonly noticedMs: number }>;

/** The generators, store and network of a world, and the processes that run in it. */
export class World<Service> {
  readonly #options: WorldOptions<Service>;
  readonly #outside = createHost("world");
  readonly random: Random;
  readonly clock: Clock;
  readonly storeHost = createHost("store");
  readonly brokerHost = createHost("broker");
  readonly network: Network;
  readonly server: MongoServer;
  readonly log: Logger;
  readonly #processes: Process<Service>[];
  readonly #lines = new Map<string, number>();
  #digest = 0;
  #faults = 0;
  #started = 0;

  constructor(options: WorldOptions<Service>) {
    const { seed, mayLogError = () => false } = options;
    this.#options = options;
    this.random = createRandom(seed);
    const storeSettings: ServerOptions = {
      isReplicaSet: !this.random.chance(0.1),
      dialect: this.random.pick<Dialect>(["mongodb", "mongodb", "unnamed-index", "conflict-in-transaction"]),
      canKillSessions: this.random.chance(0.8),
    };
    this.clock = createClock(this.#outside);
    const { clock, random, storeHost: host } = this;
    this.network = new Network(clock, random);
    this.server = new MongoServer({ clock, random, host }, storeSettings);
    replacePlatform(createSimulatedPlatform(clock, { random, ids: createRandom(seed + 1) }));
    dropUnusedBytes();
    this.log = createLog(this.#onLine, (details, message) => {
      if (mayLogError(message)) this.#onLine(details, message);
      else clock.fail(new Violation(`${message}: ${String(details.err)}`, { cause: details.err }));
    });
    this.#processes = [this.#startProcess(), this.#startProcess()];
    this.trace(() => JSON.stringify(storeSettings));
  }

  readonly trace = (getText: () => string): void => {
    const { clock } = this;
    this.#options.onTrace?.(
      `${clock.getTime().toFixed(1).padStart(9)} ${clock.getHost().name.padEnd(13)} ${getText()}`,
    );
  };

  /** Adds to the digest. */
  readonly note = (text: string): void => {
    for (const character of text) this.#digest = (Math.imul(this.#digest, 31) + character.charCodeAt(0)) | 0;
  };

  /** Runs a check. A violation ends the run; the product does not get to see it. */
  readonly runCheck = (check: () => void): void => {
    try {
      check();
    } catch (error) {
      this.clock.fail(error);
    }
  };

  /** Creates the access of a machine to the store. */
  readonly openDatabase = (host: Host): Database => {
    const { clock, random, network, server } = this;
    const { writeConcern } = clientOptions;
    return toDatabase(createMongoClient({ clock, random, network, server, host, writeConcern }), this.log);
  };

  getProcess(index: number): Process<Service> {
    const process = this.#processes[index];
    if (process === undefined) throw new Error(`there is no process ${index}`);
    return process;
  }

  /** Performs steps, each after its pause. */
  async perform<A extends { readonly do: string }>(
    steps: readonly Step<A>[],
    act: (action: A) => void,
  ): Promise<void> {
    for (const step of steps) {
      await this.clock.runUntil(this.clock.getTime() + step.afterMs);
      if (isFault(step)) this.#faults += 1;
      this.trace(() => JSON.stringify(step.action));
      act(step.action);
    }
  }

  injectFault(fault: Fault): void {
    switch (fault.do) {
      case "kill":
        this.#kill(fault);
        break;
      case "stop":
        this.#stop(fault);
        break;
      case "freeze":
        this.getProcess(fault.process).host.frozenUntil = this.clock.getTime() + fault.ms;
        break;
      case "disturb":
        this.network.disturb(this.getProcess(fault.process).host, this.#getServer(fault.server), fault.fault);
        break;
      case "cut":
        this.network.cut(this.getProcess(fault.process).host, this.#getServer(fault.server), fault.ms);
        break;
      case "elect":
        this.server.elect(fault.downMs, fault.losesUnreplicated);
        break;
      case "stall replication":
        this.server.stallReplication(fault.ms);
        break;
    }
  }

  /** Ends all faults. */
  heal(): void {
    this.network.heal();
    for (const { host } of this.#processes) host.frozenUntil = 0;
  }

  getResult(checks: number): WorldResult {
    return {
      faults: this.#faults + this.network.countDisturbed(),
      events: this.clock.countEvents(),
      checks,
      virtualMs: this.clock.getTime(),
      lines: this.#lines,
      digest: `${(this.#digest >>> 0).toString(16)}-${this.clock.countEvents()}`,
    };
  }

  readonly #onLine: WriteLine = (details, message) => {
    this.#lines.set(message, (this.#lines.get(message) ?? 0) + 1);
    this.trace(() => `${message} ${JSON.stringify(details)}`);
    this.#options.onLogged?.(details);
  };

  #startProcess(): Process<Service> {
    this.#started += 1;
    const host = createHost(`process ${this.#started}`, this.random.between(-50, 50));
    const process: Process<Service> = { host, service: undefined };
    this.clock.schedule(host, 0, () => {
      this.#options.start(process).catch(this.clock.fail);
    });
    return process;
  }

  #kill({ process: index, noticedMs, restartMs }: End): void {
    const process = this.getProcess(index);
    process.host.alive = false;
    this.clock.schedule(this.brokerHost, noticedMs, () => {
      this.#options.onGone(process.host);
    });
    this.clock.schedule(this.#outside, restartMs, () => {
      this.#replace(index, process);
    });
  }

  #stop({ process: index, restartMs }: End): void {
    const process = this.getProcess(index);
    this.clock.schedule(process.host, 0, () => {
      if (process.service !== undefined) this.#options.stop(process.service).catch(this.clock.fail);
    });
    this.clock.schedule(this.#outside, restartMs, () => {
      process.host.alive = false;
      this.#options.onGone(process.host);
      this.#replace(index, process);
    });
  }

  #replace(index: number, process: Process<Service>): void {
    if (this.#processes[index] === process) this.#processes[index] = this.#startProcess();
  }

  #getServer(name: "store" | "broker"): Host {
    return name === "store" ? this.storeHost : this.brokerHost;
  }
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
