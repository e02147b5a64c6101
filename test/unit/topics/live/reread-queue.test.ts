import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import { UnavailableError } from "@topicsync/lib/errors";
import { replacePlatform, type Platform } from "@topicsync/lib/platform";
import { RereadQueue } from "../../../../src/topics/live/reread-queue.ts";
import { createPickableTopic as topic } from "../../../support/pickable-topic.ts";
import { until } from "../../../support/poll.ts";

/** Retries come at once: what is tested is what they repeat. */
const former: Platform = replacePlatform({
  now: () => former.now(),
  elapsed: () => former.elapsed(),
  schedule: (_delayMs, action) => former.scheduleSoon(action),
  scheduleSoon: (action) => former.scheduleSoon(action),
  random: () => former.random(),
  fillRandom: (bytes) => {
    former.fillRandom(bytes);
  },
});
after(() => void replacePlatform(former));

/** A queue whose reads the test answers in turn. */
function createScene() {
  const reads: { readonly ids: readonly string[]; readonly answer: PromiseWithResolvers<string[]> }[] = [];
  const found: string[] = [];
  const failures: unknown[] = [];
  const queue = new RereadQueue({
    async find(ids) {
      const answer = Promise.withResolvers<string[]>();
      reads.push({ ids, answer });
      return (await answer.promise).map(topic);
    },
    onRead: (externalId, read) => found.push(read === undefined ? `${externalId} is gone` : externalId),
    onFailed: (error) => failures.push(error),
  });
  const waitForRead = (count: number) => until(`read ${count} has begun`, () => reads[count - 1]);
  return { queue, reads, found, failures, waitForRead };
}

describe("topics that are read again", () => {
  it("are read until it succeeds, after an outage and another failure, and each counts once", async () => {
    const { queue, reads, found, failures, waitForRead } = createScene();
    queue.add(["a", "b", "c"]);
    const caughtUp = queue.catchUp();

    const first = await waitForRead(1);
    queue.add(["b", "d"]);
    first.answer.reject(new UnavailableError("away"));

    const second = await waitForRead(2);
    assert.deepEqual(new Set(second.ids), new Set(["a", "b", "c", "d"]));
    queue.overtake("c");
    const failure = new TypeError("unreadable");
    second.answer.reject(failure);

    const third = await waitForRead(3);
    assert.deepEqual(new Set(third.ids), new Set(["a", "b", "d"]));
    assert.deepEqual(found, []);
    third.answer.resolve(["a", "b"]);
    await caughtUp;
    await until("all are read", () => found.length === 3);
    assert.deepEqual(new Set(found), new Set(["a", "b", "d is gone"]));
    assert.deepEqual(failures, [failure]);
    assert.equal(reads.length, 3);
    for (const id of ["a", "b", "c", "d"]) assert.equal(queue.has(id), false, id);
    await queue.close();
  });

  it("do not count when their read ends after the queue began again", async () => {
    const { queue, found, waitForRead } = createScene();
    queue.add(["a"]);
    const first = await waitForRead(1);
    const caughtUp = queue.catchUp();
    first.answer.resolve(["a"]);
    const second = await waitForRead(2);
    assert.deepEqual(found, []);
    second.answer.resolve([]);
    await caughtUp;
    assert.deepEqual(found, ["a is gone"]);
    await queue.close();
  });
});
