/**
 * A topic is created while events are forwarded, and gets the earlier ones by a backfill, while processes are
 * killed. In the end it must have every event that matches it, once, by an evaluator that shares no code with
 * the service.
 */
import assert from "node:assert/strict";
import { it } from "node:test";

import { ended, getBackfill, postBackfill } from "../../support/backfills.ts";
import { until } from "../../support/poll.ts";
import { chooseSeed, createRandom } from "../../support/random.ts";
import {
  createEvent,
  defineTopic,
  getText,
  routerStage,
  type ReadRecord,
} from "../../support/router-scene.ts";
import type { ServiceProcess } from "../../support/service.ts";
import { createEventTest, createValueFinder } from "../chaos/events/matching.ts";

const { routerScene } = routerStage();

const partitions = 3;
const eventsBefore = 40_000;
const eventsPerRequest = 1_000;
const liveEventsPerRequest = 100;
const kills = 4;

const live = defineTopic("live", "eventType=A", "number<10000");
const late = defineTopic("late", "eventType=A,B", "shade=1,3,5");

it("is exact although processes are killed, and the router forwards everything else", async (t) => {
  const { seed, hint } = chooseSeed("BACKFILL_SEED");
  t.diagnostic(hint);
  const random = createRandom(seed);
  const scene = routerScene();
  await scene.createTopics(partitions, 2);

  let sent = 0;
  async function send(count: number): Promise<void> {
    await scene.produce(
      ...Array.from({ length: count }, () => {
        const number = sent++;
        const members = { number, shade: random.between(0, 9) };
        return {
          value: createEvent(random.pick(["A", "B", "C"]), members),
          partition: random.between(0, partitions - 1),
          ...(random.chance(0.5) && { key: `k${random.between(0, 20)}` }),
        };
      }),
    );
  }

  const services: ServiceProcess[] = [await scene.startProcess(), await scene.startProcess()];
  const [first] = services;
  assert.ok(first !== undefined);
  await scene.post(first, live);
  while (sent < eventsBefore) await send(eventsPerRequest);
  const stopping = new AbortController();
  const sending = (async () => {
    while (!stopping.signal.aborted) {
      await send(liveEventsPerRequest);
      await scene.routed();
    }
  })();
  await scene.post(first, late);
  const { status, text, json } = await postBackfill(first, "late", {
    from: "2000-01-01T00:00:00Z",
    rate: 2_000,
  });
  assert.equal(status, 202, text);
  const { id } = json;

  for (let kill = 1; kill <= kills; kill += 1) {
    const wanted = (eventsBefore / (kills + 1)) * (kill - 1) + random.between(1, 5_000);
    await until(`the backfill has done ${wanted}`, async () => {
      const { done, state } = await getBackfill(services[0] ?? first, id);
      return done >= wanted || state === "done";
    });
    const at = random.between(0, services.length - 1);
    await services[at]?.stop("SIGKILL");
    services[at] = await scene.startProcess();
  }
  const { state, done, offsets, reason } = await ended(services[0] ?? first, id);
  assert.deepEqual([state, done, reason], ["done", offsets, null]);
  assert.ok(offsets >= eventsBefore);
  stopping.abort();
  await sending;
  await scene.routed();

  const copies = await scene.readAll(scene.egress);
  const events = await scene.readAll(scene.events);
  for (const topic of [live, late]) {
    const test = createEventTest(topic);
    const expected = events.filter(({ value }) => test(createValueFinder(JSON.parse(String(value)))));
    const own = copies.filter((copy) => getText(copy, "topicsync.topic") === topic.externalId);
    assertSame(
      own,
      expected.map(({ partition, offset }) => `${scene.events}-${partition}-${offset}`),
    );
    for (const isBackfill of [false, true])
      assertOrdered(own.filter((copy) => (getText(copy, "topicsync.backfill") === id) === isBackfill));
    t.diagnostic(`${topic.externalId}: ${own.length} of ${events.length} events`);
  }
  assert.equal((await scene.readAll(scene.deadLetterTopic)).length, 0);
});

const getId = (copy: ReadRecord): string => getText(copy, "topicsync.event") ?? "";

/** Node takes minutes to print the difference of long lists. */
function assertSame(copies: readonly ReadRecord[], expected: readonly string[]): void {
  const ids = copies.map(getId);
  const [found, wanted] = [new Set(ids), new Set(expected)];
  assert.deepEqual(
    {
      repeated: ids.length - found.size,
      missing: expected.filter((one) => !found.has(one)).slice(0, 10),
      others: ids.filter((one) => !wanted.has(one)).slice(0, 10),
    },
    { repeated: 0, missing: [], others: [] },
  );
}

/** Within a partition of the events topic and one of the egress topic. */
function assertOrdered(copies: readonly ReadRecord[]): void {
  const streams = Map.groupBy(
    copies,
    (copy) => `${getId(copy).split("-").at(-2) ?? ""} to ${copy.partition}`,
  );
  for (const [stream, some] of streams) {
    const offsets = some.map((copy) => Number(getId(copy).split("-").at(-1)));
    assert.ok(
      offsets.every((offset, at) => offset > (offsets[at - 1] ?? -1)),
      `the order of ${stream}`,
    );
  }
}
