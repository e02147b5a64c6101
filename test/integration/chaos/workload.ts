import type { createFaultInjector } from "./fault-injector.ts";
import type { createGenerator } from "./generator.ts";
import type { Deadline } from "./deadline.ts";
import { planFaults, type FaultCounts } from "./plan.ts";
import type { createAnnouncer } from "./producer.ts";
import type { Random } from "../../support/random.ts";
import type { Environment } from "./environment.ts";

export interface WorkloadOptions {
  readonly announcements: number;
  readonly faults: FaultCounts;
  readonly log: (line: string) => void;
  readonly progress: (applied: number) => void;
}

export interface Participants {
  readonly environment: Environment;
  readonly deadline: Deadline;
  readonly generator: ReturnType<typeof createGenerator>;
  readonly announcer: Awaited<ReturnType<typeof createAnnouncer>>;
  readonly injector: ReturnType<typeof createFaultInjector>;
  readonly random: Random;
}

const maxRecordsPerSend = 400;
/** How far the log may be ahead of the positions, as a share of all announcements. */
const maxLead = 0.1;

/** Announces and injects faults concurrently. The log stays ahead, so that faults interrupt work. */
export async function runWorkload(options: WorkloadOptions, participants: Participants): Promise<void> {
  const { announcements, faults, log, progress } = options;
  const { environment, deadline, generator, announcer, injector, random } = participants;
  const plan = planFaults(random, faults, announcements);
  const lead = Math.max(500, Math.floor(announcements * maxLead));
  let injected = 0;
  let announced = 0;

  /** Far enough ahead for the next fault to interrupt work, but not so far that the fault comes too late. */
  const canAnnounce = (): boolean =>
    announced < Math.min(environment.positions.total() + lead, (plan[injected]?.at ?? announcements) + lead);

  const isBusy = (): boolean => announced > environment.positions.total() || announced >= announcements;

  async function announce(): Promise<void> {
    while (announced < announcements) {
      await deadline.waitUntil("there is room to announce more", canAnnounce);
      const records = generator.take(
        Math.min(random.between(1, maxRecordsPerSend), announcements - announced),
      );
      await announcer.send(records, () => {
        deadline.check("the broker takes announcements");
      });
      announced += records.length;
    }
  }

  async function injectFaults(): Promise<void> {
    for (const planned of plan) {
      await deadline.waitUntil(`${planned.at} announcements are applied`, async () => {
        await environment.positions.refresh();
        progress(Math.min(environment.positions.total(), announcements));
        return environment.positions.total() >= planned.at;
      });
      injected += 1;
      await deadline.waitUntil("there is work to interrupt", isBusy);
      log(`${environment.positions.total()} applied of ${announced} announced:`);
      await environment.sysIds.refresh();
      await injector.inject(planned);
    }
  }

  async function trackRest(): Promise<void> {
    await deadline.waitUntil("everything is announced", async () => {
      await environment.positions.refresh();
      return announced >= announcements;
    });
  }

  await Promise.all([announce(), injectFaults().then(trackRest)]);
}
