import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { describe, it } from "node:test";

import { until } from "../../support/poll.ts";
import { waitUntilReady, stage, type Scene } from "../../support/scene.ts";
import { startTopicsync, type TestService } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const stack = sharedStack();
const { admin, scene } = stage(stack);

const partitions = 4;

/** So many wait for an instance that is to be found in the midst of its batches: several of its writes. */
const backlog = 4_000;

/** What each instance was given last. */
const assignments = (services: readonly TestService[]): number[][] =>
  services.map(({ log }) => {
    const last = log.findLast(({ msg }) => msg === "partitions assigned");
    return (last?.["partitions"] as number[] | undefined) ?? [];
  });

/** Waits until every partition is with exactly one of the instances, and none is without; does `meanwhile` as it looks. */
const shared = (services: readonly TestService[], meanwhile?: () => Promise<void>): Promise<true> =>
  until(
    "the partitions are shared out",
    async () => {
      await meanwhile?.();
      const given = assignments(services);
      const all = given.flat().toSorted();
      return given.every((one) => one.length > 0) && all.join() === "0,1,2,3" ? true : undefined;
    },
    120_000,
  );

/** How many the group has, as the broker sees it. */
async function members({ key }: Scene): Promise<number> {
  const { groups } = await admin.describeGroups([key.group]);
  return groups[0]?.members.length ?? 0;
}

const failures = ({ log }: TestService): unknown[] => log.filter(({ level }) => level >= 50);

describe("several instances in one group", () => {
  it("hand partitions over in mid-batch: what is finished stays, nothing comes twice, nothing is lost", async () => {
    const own = scene();
    await own.createTopic(partitions);
    await own.announce(0, backlog);
    const first = await startTopicsync(own.settings);
    await until("the first is at work", async () => (await own.applied()) > 0);
    const second = await startTopicsync(own.settings);
    await shared([first, second], async () => {
      const announced = own.announced.size;
      if (announced - (await own.applied()) < backlog) await own.announce(announced, announced + backlog);
    });
    assert.ok((await own.applied()) < own.announced.size, "the partitions were handed over in mid-batch");
    await own.inStep(240_000);
    await Promise.all([waitUntilReady(first), waitUntilReady(second)]);
    assert.deepEqual([...failures(first), ...failures(second)], []);
    assert.deepEqual(await Promise.all([first.stop(), second.stop()]), [0, 0]);
  });

  it("keep the collection exact while one is killed, one stopped and one added, and announcements flow", async (t) => {
    const own = scene();
    await own.createTopic(partitions);
    const services = await Promise.all([1, 2, 3].map(() => startTopicsync(own.settings)));
    await Promise.all(services.map((service) => service.ready()));
    await shared(services);
    assert.equal(await members(own), 3);

    const flow = (async () => {
      for (let at = 0; at < 9_000; at += 1_000) await own.announce(at, at + 1_000);
      // Some again, in new words, and some for good.
      await own.announce(1_000, 3_000, "Renamed");
      await own.retire(5_000, 6_000);
    })();
    const [toKill] = services.splice(randomInt(3), 1);
    const [toStop] = services.splice(randomInt(2), 1);
    const killAt = randomInt(1, 6_000);
    t.diagnostic(`one is killed when ${killAt} are applied`);
    await until(`${killAt} are applied`, async () => (await own.applied()) >= killAt, 120_000);
    await toKill?.stop("SIGKILL");
    const added = await startTopicsync(own.settings);
    services.push(added);
    await until("more are applied", async () => (await own.applied()) >= killAt + 2_000, 120_000);
    assert.equal(await toStop?.stop("SIGTERM"), 0);
    await flow;
    await own.inStep(240_000);
    await shared(services);
    assert.equal(await members(own), 2);
    assert.equal(await own.retired.countDocuments(), 1_000);
    await Promise.all(services.map((service) => waitUntilReady(service)));
    assert.deepEqual(services.flatMap(failures), []);
    assert.deepEqual(await Promise.all(services.map((service) => service.stop())), [0, 0]);
  });
});
