import type { createDirector } from "./director.ts";
import type { createGenerator } from "./generator.ts";
import type { Patience } from "./patience.ts";
import { planBlows, type FaultCounts } from "./plan.ts";
import type { createAnnouncer } from "./producer.ts";
import type { Random } from "./random.ts";
import type { Stage } from "./stage.ts";

export interface ActOptions {
  readonly announcements: number;
  readonly faults: FaultCounts;
  readonly log: (line: string) => void;
  readonly progress: (applied: number) => void;
}

/** Who and what takes part. */
export interface Scene {
  readonly stage: Stage;
  readonly patience: Patience;
  readonly generator: ReturnType<typeof createGenerator>;
  readonly announcer: Awaited<ReturnType<typeof createAnnouncer>>;
  readonly director: ReturnType<typeof createDirector>;
  readonly random: Random;
}

const maxRecordsPerSend = 400;
/** How far the log may be ahead of the positions, as a part of all announcements. */
const maxLead = 0.1;

/** Announces and strikes side by side. The log is always ahead of the positions, so that blows meet work in progress. */
export async function announceAndStrike(options: ActOptions, scene: Scene): Promise<void> {
  const { announcements, faults, log, progress } = options;
  const { stage, patience, generator, announcer, director, random } = scene;
  const blows = planBlows(random, faults, announcements);
  const lead = Math.max(500, Math.floor(announcements * maxLead));
  let struck = 0;
  let announced = 0;

  /** Announced far enough to give the next blow something to interrupt, and not so far that it comes too late. */
  const mayAnnounce = (): boolean =>
    announced < Math.min(stage.positions.total() + lead, (blows[struck]?.at ?? announcements) + lead);

  const isAtWork = (): boolean => announced > stage.positions.total() || announced >= announcements;

  async function announce(): Promise<void> {
    while (announced < announcements) {
      await patience.until("there is room to announce more", mayAnnounce);
      const records = generator.take(
        Math.min(random.between(1, maxRecordsPerSend), announcements - announced),
      );
      await announcer.send(records, () => {
        patience.goOn("the broker takes announcements");
      });
      announced += records.length;
    }
  }

  async function strike(): Promise<void> {
    for (const blow of blows) {
      await patience.until(`${blow.at} announcements are applied`, async () => {
        await stage.positions.look();
        progress(Math.min(stage.positions.total(), announcements));
        return stage.positions.total() >= blow.at;
      });
      struck += 1;
      await patience.until("there is work to interrupt", isAtWork);
      log(`${stage.positions.total()} applied of ${announced} announced:`);
      await stage.sysIds.look();
      await director.strike(blow);
    }
  }

  async function follow(): Promise<void> {
    await patience.until("everything is announced", async () => {
      await stage.positions.look();
      return announced >= announcements;
    });
  }

  await Promise.all([announce(), strike().then(follow)]);
}
