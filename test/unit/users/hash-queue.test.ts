import assert from "node:assert/strict";
import { it } from "node:test";

import { OverloadedError } from "../../../src/lib/errors.ts";
import { createHashing } from "../../../src/users/hash-queue.ts";
import { until } from "../../support/poll.ts";

/** Work that ends when it is told to, and says when it began. */
function works() {
  const began: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () => {
    began.push(name);
    return new Promise<string>((resolve) => {
      ends.set(name, () => {
        resolve(name);
      });
    });
  };
  return { began, work, end: (name: string) => ends.get(name)?.() };
}

/** Waits until these have begun, and sees that no others have. */
async function untilBegan(began: readonly string[], ...names: string[]): Promise<void> {
  await until(`${names.join(", ")} began`, () => began.length >= names.length);
  assert.deepEqual(began, names);
}

it("computes only so many hashes at once, in the order of their coming", async () => {
  const { began, work, end } = works();
  const hashing = createHashing({ atOnce: 2, mostWaiting: 10, rest: 0 });
  const all = ["a", "b", "c", "d"].map((name) => hashing.run(false, work(name)));
  await untilBegan(began, "a", "b");
  end("b");
  await untilBegan(began, "a", "b", "c");
  end("a");
  end("c");
  await untilBegan(began, "a", "b", "c", "d");
  end("d");
  assert.deepEqual(await Promise.all(all), ["a", "b", "c", "d"]);
});

it("computes one or two hashes at once unless told otherwise, and lets 32 wait", async () => {
  const { began, work, end } = works();
  const hashing = createHashing();
  const names = Array.from({ length: 50 }, (_, index) => `work ${index}`);
  const all = names.map((name) => hashing.run(true, work(name)));
  const refused: string[] = [];
  all.forEach((one, index) => void one.catch(() => refused.push(names[index] ?? "")));
  await until("some began", () => began.length > 0);
  const atOnce = began.length;
  assert.ok(atOnce >= 1 && atOnce <= 2, `${atOnce} at once`);
  await until("some were refused", () => refused.length > 0);
  assert.deepEqual(refused, names.slice(atOnce + 32));
  for (const name of names.slice(0, atOnce + 32)) {
    await until(`${name} began`, () => began.includes(name));
    end(name);
  }
  assert.equal(
    (await Promise.allSettled(all)).filter(({ status }) => status === "fulfilled").length,
    atOnce + 32,
  );
});

it("does what is urgent first, and in the place of what is not when too many wait", async () => {
  const { began, work, end } = works();
  const hashing = createHashing({ atOnce: 1, mostWaiting: 2, rest: 0 });
  const first = hashing.run(false, work("first"));
  await untilBegan(began, "first");
  const older = hashing.run(false, work("older"));
  const younger = hashing.run(false, work("younger"));
  await assert.rejects(hashing.run(false, work("too many")), OverloadedError);
  const urgent = hashing.run(true, work("urgent"));
  await assert.rejects(younger, OverloadedError);
  end("first");
  await untilBegan(began, "first", "urgent");
  end("urgent");
  await untilBegan(began, "first", "urgent", "older");
  end("older");
  assert.deepEqual(await Promise.all([first, urgent, older]), ["first", "urgent", "older"]);
});

it("lets what is not urgent rest between its works, in which what is urgent goes on", async () => {
  const { began, work, end } = works();
  const hashing = createHashing({ atOnce: 1, mostWaiting: 10, rest: 1_000_000 });
  const tired = hashing.run(false, work("tired"));
  void hashing.run(false, work("resting")).catch(() => undefined);
  await untilBegan(began, "tired");
  end("tired");
  await tired;
  const urgent = [hashing.run(true, work("urgent")), hashing.run(true, work("as urgent"))];
  await untilBegan(began, "tired", "urgent");
  end("urgent");
  await untilBegan(began, "tired", "urgent", "as urgent");
  end("as urgent");
  assert.deepEqual(await Promise.all(urgent), ["urgent", "as urgent"]);
  assert.deepEqual(began, ["tired", "urgent", "as urgent"]);
});

it("goes on after work that failed", async () => {
  const hashing = createHashing({ atOnce: 1, mostWaiting: 1 });
  const failing = hashing.run(false, () => Promise.reject(new Error("no")));
  const next = hashing.run(false, () => Promise.resolve("done"));
  await assert.rejects(failing, /no/);
  assert.equal(await next, "done");
  assert.equal(await hashing.run(false, () => Promise.resolve("again")), "again");
});

it("refuses what does not get its turn in time, and never begins it", async () => {
  const { began, work, end } = works();
  const hashing = createHashing({ atOnce: 1, longestWaitMs: 50, rest: 0 });
  const first = hashing.run(false, work("first"));
  await untilBegan(began, "first");
  const late = [false, true].map((urgent) =>
    assert.rejects(hashing.run(urgent, work("late")), OverloadedError),
  );
  await Promise.all(late);
  end("first");
  assert.equal(await first, "first");
  const next = hashing.run(false, work("next"));
  await untilBegan(began, "first", "next");
  end("next");
  assert.equal(await next, "next");
});
