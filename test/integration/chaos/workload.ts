import type { createFaultInjector } from "./fault-injector.ts";
import type { GeneratedRecord } from "./generator.ts";
import type { Deadline } from "./deadline.ts";
import { planFaults, type FaultCounts } from "./plan.ts";
import type { createInputProducer } from "./producer.ts";
import type { Random } from "../../support/random.ts";
import type { Input } from "./environment.ts";

export interface WorkloadOptions {
  /** How many records to send. */
  readonly records: number;
  readonly faults: FaultCounts;
  readonly log: (line: string) => void;
  readonly progress: (applied: number) => void;
}

export interface Participants {
  readonly input: Input;
  readonly deadline: Deadline;
  /** Generates this many records, or a few more. */
  readonly take: (count: number) => readonly GeneratedRecord[];
  readonly producer: Awaited<ReturnType<typeof createInputProducer>>;
  readonly injector: ReturnType<typeof createFaultInjector>;
  readonly random: Random;
  /** Called before each fault. */
  readonly beforeFault?: () => Promise<void>;
  /** Called after each request, with the number of records sent so far. */
  readonly afterSend?: (sent: number) => Promise<void>;
}

const maxRecordsPerSend = 400;
/** How far the log may be ahead of the positions, as a share of all records. */
const maxLead = 0.1;

/** Sends records and injects faults concurrently. The log stays ahead, so that faults interrupt work. */
export async function runWorkload(options: WorkloadOptions, participants: Participants): Promise<void> {
  const { records, faults, log, progress } = options;
  const { input, deadline, take, producer, injector, random, beforeFault, afterSend } = participants;
  const { positions } = input;
  const plan = planFaults(random, faults, records);
  const lead = Math.max(500, Math.floor(records * maxLead));
  let injected = 0;
  let sent = 0;

  const isBusy = (): boolean => sent > positions.total() || sent >= records;

  /**
   * Far enough ahead for the next fault to interrupt work, but not so far that the fault comes too late. A
   * fault that is due may find everything applied, and waits for more.
   */
  const canSend = (): boolean =>
    !isBusy() || sent < Math.min(positions.total() + lead, (plan[injected]?.at ?? records) + lead);

  async function send(): Promise<void> {
    while (sent < records) {
      await deadline.waitUntil("there is room to send more", canSend);
      const next = take(Math.min(random.between(1, maxRecordsPerSend), records - sent));
      await producer.send(next, () => {
        deadline.check("the broker takes records");
      });
      sent += next.length;
      await afterSend?.(sent);
    }
  }

  async function injectFaults(): Promise<void> {
    for (const planned of plan) {
      await deadline.waitUntil(`${planned.at} records are applied`, async () => {
        await positions.refresh();
        progress(Math.min(positions.total(), records));
        return positions.total() >= planned.at;
      });
      injected += 1;
      await deadline.waitUntil("there is work to interrupt", isBusy);
      log(`${positions.total()} applied of ${sent} sent:`);
      await beforeFault?.();
      await injector.inject(planned);
    }
  }

  async function trackRest(): Promise<void> {
    await deadline.waitUntil("everything is sent", async () => {
      await positions.refresh();
      progress(Math.min(positions.total(), records));
      return sent >= records;
    });
  }

  await Promise.all([send(), injectFaults().then(trackRest)]);
}
