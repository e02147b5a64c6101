import { setTimeout as sleep } from "node:timers/promises";

import type { Instances, Instance } from "./instances.ts";
import type { Deadline } from "./deadline.ts";
import type { PlannedFault, Fault } from "./plan.ts";
import type { Random } from "../../support/random.ts";
import type { Server } from "./servers.ts";

export interface FaultInjectorOptions {
  readonly random: Random;
  readonly instances: Instances;
  readonly maxInstances: number;
  readonly store: Server;
  readonly broker: Server;
  readonly deadline: Deadline;
  /** Whether instances are frozen while the broker is killed; see `killBroker`. */
  readonly freezesForBroker: boolean;
  /** Client ids of the group's members; undefined during a rebalance. */
  readonly getMembers: () => Promise<readonly string[] | undefined>;
  /** Returns a check whether every partition has advanced since the call. */
  readonly watchAdvance: () => () => Promise<boolean>;
  readonly log: (line: string) => void;
}

/** Longer than any retry. */
const maxDowntimeMs = 3_000;
/** The broker completes transactions that have ended within this time. */
const completionMs = 2_000;
/** Faults are delayed at random, so that they hit every phase of a batch. */
const maxDelayMs = 80;

export function createFaultInjector(options: FaultInjectorOptions) {
  const { random, instances, maxInstances, store, broker, deadline, getMembers, watchAdvance, log } = options;
  const { freezesForBroker } = options;
  /** Resolve when frozen instances are resumed. */
  const frozen: Promise<void>[] = [];

  const getActive = (): Instance[] => instances.running().filter((instance) => !instance.frozen);
  const wait = (most: number): Promise<void> => sleep(random.between(0, most));

  function start(): Instance {
    const instance = instances.start();
    log(`start ${instance.name}`);
    return instance;
  }

  /** Kills one instance and continues with a random number of instances. */
  async function kill(): Promise<void> {
    const victim = random.pickOptional(getActive()) ?? start();
    const wanted = random.between(1, maxInstances);
    log(`kill ${victim.name}`);
    await victim.kill();
    if (random.chance(0.5)) await wait(maxDowntimeMs);
    while (getActive().length < wanted) start();
    const surplus = getActive().at(-1);
    if (getActive().length <= wanted || surplus === undefined) return;
    log(`stop ${surplus.name}`);
    await deadline.waitFor(`${surplus.name} has ended`, surplus.stop());
  }

  /**
   * Freezes one instance, possibly during a write, until the group has reassigned its partitions. It then
   * continues as if it still owned them.
   */
  function freeze(): void {
    const victim = random.pickOptional(getActive()) ?? start();
    if (getActive().length < 2) start();
    log(`freeze ${victim.name}`);
    victim.freeze();
    frozen.push(resumeAfterRemoval(victim));
    frozen.at(-1)?.catch(() => undefined);
  }

  async function resumeAfterRemoval(victim: Instance): Promise<void> {
    try {
      await deadline.waitUntil(`${victim.name} is removed from the group`, async () => {
        const names = await getMembers();
        return names !== undefined && names.length > 0 && !names.includes(victim.name);
      });
      // Resumed at once, it meets the new owners; resumed later, their writes.
      if (random.chance(0.6)) await deadline.waitUntil("the others have advanced", watchAdvance());
    } finally {
      victim.resume();
      log(`thaw ${victim.name}`);
    }
  }

  async function killAndRestart(what: string, server: Server): Promise<void> {
    log(`kill the ${what}`);
    await server.kill();
    await wait(maxDowntimeMs);
    await server.restart();
    log(`the ${what} is back`);
  }

  /**
   * A single broker can lose the markers of a transaction that it is completing when it is killed, and nothing continues
   * then (docs/reliability.md). With the instances frozen, their transactions are open, but not being completed.
   */
  async function killBroker(): Promise<void> {
    const paused = freezesForBroker ? getActive() : [];
    for (const instance of paused) instance.freeze();
    if (paused.length > 0) await sleep(completionMs);
    await killAndRestart("broker", broker);
    for (const instance of paused) instance.resume();
  }

  const injectors: Readonly<Record<Fault, () => Promise<void> | void>> = {
    kill,
    freeze,
    store: () => killAndRestart("store", store),
    broker: killBroker,
  };

  return {
    start,
    /** Resolves when the faults are injected and everything that was killed is restarting. */
    async inject(planned: PlannedFault): Promise<void> {
      await wait(maxDelayMs);
      await Promise.all(planned.faults.map(async (fault) => injectors[fault]()));
    },
    /** Resolves when no instance is frozen. */
    async settle(): Promise<void> {
      await Promise.all(frozen);
    },
  };
}
