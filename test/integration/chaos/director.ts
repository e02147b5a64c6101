import { setTimeout as sleep } from "node:timers/promises";

import type { Crew, Instance } from "./crew.ts";
import type { Patience } from "./patience.ts";
import type { Blow, Fault } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Server } from "./servers.ts";

export interface DirectorOptions {
  readonly random: Random;
  readonly crew: Crew;
  readonly maxInstances: number;
  readonly store: Server;
  readonly broker: Server;
  readonly patience: Patience;
  /** The client ids of the consumer group's members once it is settled; undefined while it changes. */
  readonly members: () => Promise<readonly string[] | undefined>;
  /** Gives a question whether every partition has gone on since it was given. */
  readonly goneOn: () => () => Promise<boolean>;
  readonly log: (line: string) => void;
}

/** How long a server is away, and an instance before the next is started: from nothing to longer than any retry. */
const maxAbsenceMs = 3_000;
/** A blow falls so long after its time at most, so that it meets every phase of a batch. */
const maxDelayMs = 80;

/** Does to the service what the plan says. */
export function createDirector(options: DirectorOptions) {
  const {
    random,
    crew,
    maxInstances: mostInstances,
    store,
    broker,
    patience,
    members,
    goneOn,
    log,
  } = options;
  /** Instances that stand still until the group has shut them out. */
  const frozen: Promise<void>[] = [];

  const awake = (): Instance[] => crew.running().filter((instance) => !instance.frozen);
  const wait = (most: number): Promise<void> => sleep(random.between(0, most));

  function start(): Instance {
    const instance = crew.start();
    log(`start ${instance.name}`);
    return instance;
  }

  /** Ends one, and afterwards there are as many as chance will have it. */
  async function kill(): Promise<void> {
    const victim = random.pickAny(awake()) ?? start();
    const wanted = random.between(1, mostInstances);
    log(`kill ${victim.name}`);
    await victim.kill();
    if (random.chance(0.5)) await wait(maxAbsenceMs);
    while (awake().length < wanted) start();
    const surplus = awake().at(-1);
    if (awake().length <= wanted || surplus === undefined) return;
    log(`stop ${surplus.name}`);
    await patience.within(`${surplus.name} has ended`, surplus.stop());
  }

  /**
   * Makes one stand still, perhaps in the midst of a write, until the group has given its partitions to others: it goes
   * on as if nothing had been.
   */
  function freeze(): void {
    const victim = random.pickAny(awake()) ?? start();
    if (awake().length < 2) start();
    log(`freeze ${victim.name}`);
    victim.freeze();
    frozen.push(thawWhenShutOut(victim));
    frozen.at(-1)?.catch(() => undefined);
  }

  async function thawWhenShutOut(victim: Instance): Promise<void> {
    try {
      await patience.until(`${victim.name} is shut out of the group`, async () => {
        const names = await members();
        return names !== undefined && names.length > 0 && !names.includes(victim.name);
      });
      // At once it meets those who have just taken over; later, what they have written.
      if (random.chance(0.6)) await patience.until("others have gone on without it", goneOn());
    } finally {
      victim.thaw();
      log(`thaw ${victim.name}`);
    }
  }

  async function takeAway(what: string, server: Server): Promise<void> {
    log(`kill the ${what}`);
    await server.kill();
    await wait(maxAbsenceMs);
    await server.restart();
    log(`the ${what} is back`);
  }

  const strike: Readonly<Record<Fault, () => Promise<void> | void>> = {
    kill,
    freeze,
    store: () => takeAway("store", store),
    broker: () => takeAway("broker", broker),
  };

  return {
    start,
    /** Resolves when the blow has fallen and whatever was killed is back, or at least on its way. */
    async strike(blow: Blow): Promise<void> {
      await wait(maxDelayMs);
      await Promise.all(blow.faults.map(async (fault) => strike[fault]()));
    },
    /** Resolves when nobody stands still any more. */
    async settle(): Promise<void> {
      await Promise.all(frozen);
    },
  };
}
