import assert from "node:assert/strict";
import { it } from "node:test";

import { OverloadedError } from "@topicsync/lib/errors";
import { createHashQueue } from "../../../src/users/hash-queue.ts";
import { until } from "../../support/poll.ts";

/** Creates work that records its start and ends on demand. */
function createWork() {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () => {
    started.push(name);
    return new Promise<string>((resolve) => {
      ends.set(name, () => {
        resolve(name);
      });
    });
  };
  return { started, work, end: (name: string) => ends.get(name)?.() };
}

async function untilStarted(started: readonly string[], ...names: string[]): Promise<void> {
  await until(`${names.join(", ")} started`, () => started.length >= names.length);
  assert.deepEqual(started, names);
}

it("limits concurrency, and keeps the order of arrival", async () => {
  const { started, work, end } = createWork();
  const queue = createHashQueue({ concurrency: 2 });
  const all = ["a", "b", "c", "d"].map((name) => queue.run("last", work(name)));
  await untilStarted(started, "a", "b");
  end("b");
  await untilStarted(started, "a", "b", "c");
  end("a");
  end("c");
  await untilStarted(started, "a", "b", "c", "d");
  end("d");
  assert.deepEqual(await Promise.all(all), ["a", "b", "c", "d"]);
});

it("runs one or two hashes at once by default, and lets 32 wait", async () => {
  const { started, work, end } = createWork();
  const queue = createHashQueue();
  const names = Array.from({ length: 50 }, (_, index) => `work ${index}`);
  const all = names.map((name) => queue.run("first", work(name)));
  const rejected: string[] = [];
  all.forEach((one, index) => void one.catch(() => rejected.push(names[index] ?? "")));
  await until("some started", () => started.length > 0);
  const concurrency = started.length;
  assert.ok(concurrency >= 1 && concurrency <= 2, `${concurrency} at once`);
  await until("some were rejected", () => rejected.length > 0);
  assert.deepEqual(rejected, names.slice(concurrency + 32));
  for (const name of names.slice(0, concurrency + 32)) {
    await until(`${name} started`, () => started.includes(name));
    end(name);
  }
  const fulfilled = (await Promise.allSettled(all)).filter(({ status }) => status === "fulfilled");
  assert.equal(fulfilled.length, concurrency + 32);
});

it("runs the priority `first` first, and keeps half of the places for it", async () => {
  const { started, work, end } = createWork();
  const queue = createHashQueue({ concurrency: 1, maxWaiting: 2 });
  const running = queue.run("last", work("running"));
  await untilStarted(started, "running");
  const last = queue.run("last", work("last"));
  await assert.rejects(queue.run("last", work("too many")), OverloadedError);
  const first = queue.run("first", work("first"));
  await assert.rejects(queue.run("first", work("too many")), OverloadedError);
  end("running");
  await untilStarted(started, "running", "first");
  end("first");
  await untilStarted(started, "running", "first", "last");
  end("last");
  assert.deepEqual(await Promise.all([running, first, last]), ["running", "first", "last"]);
});

it("continues after work that failed", async () => {
  const queue = createHashQueue({ concurrency: 1 });
  const failing = queue.run("last", () => Promise.reject(new Error("no")));
  const next = queue.run("last", () => Promise.resolve("done"));
  await assert.rejects(failing, /no/);
  assert.equal(await next, "done");
});

it("rejects work whose turn does not come in time, and never starts it", async () => {
  const { started, work, end } = createWork();
  const queue = createHashQueue({ concurrency: 1, maxWaitMs: 50 });
  const running = queue.run("last", work("running"));
  await untilStarted(started, "running");
  const late = (["first", "last"] as const).map((priority) =>
    assert.rejects(queue.run(priority, work("late")), OverloadedError),
  );
  await Promise.all(late);
  end("running");
  assert.equal(await running, "running");
  const next = queue.run("last", work("next"));
  await untilStarted(started, "running", "next");
  end("next");
  assert.equal(await next, "next");
});
