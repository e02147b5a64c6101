import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { until } from "../../support/poll.ts";
import { chooseSeed, createRandom } from "../../support/random.ts";
import { waitUntilReady, stage, type Scene } from "../../support/scene.ts";
import { startTopicsync, type TestService } from "../../support/service.ts";

const { admin, scene } = stage();

const partitionCount = 4;

/** Enough announcements for several batches, so that a rebalance interrupts one. */
const backlog = 4_000;

/** The last assignment of each instance in the group of the announcements. */
const getAssignments = (services: readonly TestService[]): number[][] =>
  services.map(({ log }) => {
    const last = log.findLast(
      ({ msg, component }) => msg === "partitions assigned" && component === "announcements",
    );
    return (last?.["partitions"] as number[] | undefined) ?? [];
  });

/**
 * Waits until each instance has partitions and each partition one instance; calls `meanwhile` before each
 * check.
 */
const waitForRebalance = (services: readonly TestService[], meanwhile?: () => Promise<void>): Promise<true> =>
  until("the partitions are assigned", async () => {
    await meanwhile?.();
    const assignments = getAssignments(services);
    const all = assignments.flat().toSorted();
    return assignments.every((one) => one.length > 0) && all.join() === "0,1,2,3";
  });

/** The number of members in the group. */
async function countMembers({ key }: Scene): Promise<number> {
  const { groups } = await admin.describeGroups([key.group]);
  return groups[0]?.members.length ?? 0;
}

const findErrors = ({ log }: TestService): unknown[] => log.filter(({ level }) => level >= 50);

describe("several instances in one group", () => {
  it("reassign partitions during a batch and lose or repeat nothing", async () => {
    const own = scene();
    await own.createTopic(partitionCount);
    await own.announce(0, backlog);
    const first = await startTopicsync(own.settings);
    await until("the first instance applies announcements", async () => (await own.applied()) > 0);
    const second = await startTopicsync(own.settings);
    await waitForRebalance([first, second], async () => {
      const announced = own.announced.size;
      if (announced - (await own.applied()) < backlog) await own.announce(announced, announced + backlog);
    });
    await own.inStep();
    await Promise.all([waitUntilReady(first), waitUntilReady(second)]);
    assert.deepEqual([...findErrors(first), ...findErrors(second)], []);
    assert.deepEqual(await Promise.all([first.stop(), second.stop()]), [0, 0]);
  });

  it("keep the collection exact while announcements arrive and instances are killed, stopped and added", async (t) => {
    const own = scene();
    await own.createTopic(partitionCount);
    const services = await Promise.all([1, 2, 3].map(() => own.startProcess()));
    await waitForRebalance(services);
    assert.equal(await countMembers(own), 3);

    const announcing = (async () => {
      for (let at = 0; at < 4_500; at += 500) await own.announce(at, at + 500);
      // Changes some of the topics and retires others.
      await own.announce(500, 1_500, "Renamed");
      await own.retire(2_500, 3_000);
    })();
    const { seed, hint } = chooseSeed("INSTANCES_SEED");
    const random = createRandom(seed);
    const [toKill] = services.splice(random.between(0, 2), 1);
    const [toStop] = services.splice(random.between(0, 1), 1);
    const killAt = random.between(1, 3_000);
    t.diagnostic(`${hint}: one instance is killed after ${killAt} announcements`);
    await until(`${killAt} announcements are applied`, async () => (await own.applied()) >= killAt);
    await toKill?.stop("SIGKILL");
    const added = await startTopicsync(own.settings);
    services.push(added);
    await until("more announcements are applied", async () => (await own.applied()) >= killAt + 1_000);
    assert.equal(await toStop?.stop("SIGTERM"), 0);
    await announcing;
    await own.inStep();
    await waitForRebalance(services);
    assert.equal(await countMembers(own), 2);
    assert.equal(await own.retired.countDocuments(), 500);
    await Promise.all(services.map((service) => waitUntilReady(service)));
    assert.deepEqual(services.flatMap(findErrors), []);
    assert.deepEqual(await Promise.all(services.map((service) => service.stop())), [0, 0]);
  });
});
