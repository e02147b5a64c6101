import assert from "node:assert/strict";
import { it } from "node:test";

import { Overloaded } from "../../src/errors.ts";
import { createHashing } from "../../src/users/hashing.ts";

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

it("computes only so many hashes at once, in the order of their coming", async () => {
  const { began, work, end } = works();
  const hashing = createHashing({ atOnce: 2, mostWaiting: 10 });
  const all = ["a", "b", "c", "d"].map((name) => hashing.run(false, work(name)));
  assert.deepEqual(began, ["a", "b"]);
  end("b");
  await all[1];
  await Promise.resolve();
  assert.deepEqual(began, ["a", "b", "c"]);
  end("a");
  end("c");
  await Promise.all([all[0], all[2]]);
  await Promise.resolve();
  end("d");
  assert.deepEqual(await Promise.all(all), ["a", "b", "c", "d"]);
});

it("does what is urgent first, and in the place of what is not when too many wait", async () => {
  const { began, work, end } = works();
  const hashing = createHashing({ atOnce: 1, mostWaiting: 2 });
  const first = hashing.run(false, work("first"));
  const older = hashing.run(false, work("older"));
  const younger = hashing.run(false, work("younger"));
  await assert.rejects(hashing.run(false, work("too many")), Overloaded);
  const urgent = hashing.run(true, work("urgent"));
  await assert.rejects(younger, Overloaded);
  end("first");
  await first;
  await Promise.resolve();
  assert.deepEqual(began, ["first", "urgent"]);
  end("urgent");
  await urgent;
  await Promise.resolve();
  end("older");
  await older;
  assert.deepEqual(began, ["first", "urgent", "older"]);
});

it("goes on after work that failed", async () => {
  const hashing = createHashing({ atOnce: 1, mostWaiting: 1 });
  const failing = hashing.run(false, () => Promise.reject(new Error("no")));
  const next = hashing.run(false, () => Promise.resolve("done"));
  await assert.rejects(failing, /no/);
  assert.equal(await next, "done");
  assert.equal(await hashing.run(false, () => Promise.resolve("again")), "again");
});
