import type { Instances, Instance } from "./instances.ts";
import type { Deadline } from "./deadline.ts";
import type { PlannedFault, Fault } from "./plan.ts";
import { pause } from "../../support/poll.ts";
import type { Random } from "../../support/random.ts";
import type { Restartable } from "./servers.ts";

export interface FaultInjectorOptions {
  readonly random: Random;
  readonly instances: Instances;
  readonly maxInstances: number;
  readonly store: Restartable;
  readonly brokers: readonly [Restartable, Restartable];
  /** Adds partitions to a Kafka topic. Returns a description. */
  readonly addPartitions: () => Promise<string>;
  readonly deadline: Deadline;
  /** Client ids of the group's members; undefined during a rebalance. */
  readonly getMembers: () => Promise<readonly string[] | undefined>;
  /** Returns a check whether every partition has advanced since the call. */
  readonly watchAdvance: () => () => Promise<boolean>;
  readonly log: (line: string) => void;
}

/** Longer than any retry. */
const maxDowntimeMs = 3_000;
/** Faults are delayed at random, so that they hit every phase of a batch. */
const maxDelayMs = 80;

export function createFaultInjector(options: FaultInjectorOptions) {
  const { random, instances, maxInstances, store, brokers, deadline, getMembers, watchAdvance, log } =
    options;
  /** Resolve when frozen instances are resumed. */
  const frozen: Promise<void>[] = [];

  const getActive = (): Instance[] => instances.running().filter((instance) => !instance.frozen);
  const wait = (most: number): Promise<void> => pause(random.between(0, most));

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

  async function killAndRestart(what: string, server: Restartable): Promise<void> {
    log(`kill ${what}`);
    await server.kill();
    await wait(maxDowntimeMs);
    await server.start();
    log(`${what} is back`);
  }

  async function killBroker(): Promise<void> {
    const victim = random.pick(brokers);
    await killAndRestart(`broker ${brokers.indexOf(victim) + 1}`, victim);
  }

  const injectors: Readonly<Record<Fault, () => Promise<void> | void>> = {
    kill,
    freeze,
    store: () => killAndRestart("the store", store),
    broker: killBroker,
    async grow() {
      log(await options.addPartitions());
    },
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
