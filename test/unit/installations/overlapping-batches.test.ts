import assert from "node:assert/strict";
import { it } from "node:test";

import { OverloadedError } from "@topicsync/lib/errors";
import { GroupCommit } from "../../../src/installations/group-commit.ts";
import {
  unfinished,
  type InstallationStore,
  type InstallationWrite,
} from "../../../src/installations/stores.ts";
import { createRandom, type Random } from "../../support/random.ts";
import { applyInOrder, type Model } from "./model.ts";

const scope = { application: "agent", platform: "ios" } as const;

const register = (token: string, user: string, previousToken?: string): InstallationWrite => ({
  kind: "register",
  key: { ...scope, token },
  user,
  previousToken,
});
const remove = (user: string, token?: string): InstallationWrite => ({
  ...{ kind: "remove", ...scope, user, token, reason: "removed" },
});

const countCharacters = (write: InstallationWrite): number =>
  write.kind === "register"
    ? write.key.token.length + (write.previousToken?.length ?? 0)
    : (write.token?.length ?? 0);

/**
 * A store that executes several batches at once, unlike the one that most tests run on. Each write takes
 * effect when its batch begins or when it ends, whatever was submitted first. Batches and single writes fail,
 * and removals stay unfinished.
 */
function createOverlappingStore(random: Random) {
  const model: Model = new Map();
  /** The outcome of each write so far. */
  const outcomes = new Map<InstallationWrite, "failed" | "unfinished" | "applied">();
  const waiting = new Set<InstallationWrite>();
  const ends: (() => void)[] = [];

  function apply(write: InstallationWrite): unknown {
    const before = outcomes.get(write);
    assert.ok(before === undefined || before === "unfinished", "no write is sent again");
    if (before === undefined && random.chance(0.1)) {
      outcomes.set(write, "failed");
      return new Error("rejected");
    }
    if (write.kind === "remove" && random.chance(0.5)) {
      const owned = [...model].find(([, { user, active }]) => user === write.user && active);
      if (owned !== undefined && write.token === undefined)
        model.set(owned[0], { ...owned[1], active: false });
      outcomes.set(write, "unfinished");
      return unfinished;
    }
    applyInOrder(model, [write]);
    outcomes.set(write, "applied");
    return undefined;
  }

  const write: InstallationStore["write"] = (writes) => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly unknown[]>();
    for (const one of writes) waiting.delete(one);
    if (random.chance(0.1) && !writes.some((one) => outcomes.has(one))) {
      for (const one of writes) outcomes.set(one, "failed");
      ends.push(() => {
        reject(new Error("the store is away"));
      });
      return promise;
    }
    const results: unknown[] = [];
    const late: (readonly [number, InstallationWrite])[] = [];
    for (const [at, one] of writes.entries()) {
      if (random.chance(0.5)) late.push([at, one]);
      else results[at] = apply(one);
    }
    ends.push(() => {
      for (const [at, one] of random.shuffle(late)) results[at] = apply(one);
      for (const [at, one] of writes.entries()) if (results[at] === unfinished) waiting.add(one);
      resolve(results);
    });
    return promise;
  };

  return {
    write,
    model,
    outcomes,
    /** The writes that were submitted and wait for a batch. */
    waiting,
    /** Ends one of the batches in flight. */
    async endOne(): Promise<void> {
      ends.splice(random.between(0, ends.length - 1), 1)[0]?.();
      await nextTurn();
    },
  };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const tokens = ["a", "b", "c", "d", "ee", "ff", "gg", "hhh"] as const;
const users = ["ann", "bob", "cid"] as const;
const maxWaitingCharacters = 40;

function createWrite(random: Random): InstallationWrite {
  const [token, user] = [random.pick(tokens), random.pick(users)];
  if (random.chance(0.2)) return remove(user, random.chance(0.3) ? token : undefined);
  return register(token, user, random.chance(0.3) ? random.pick(tokens) : undefined);
}

async function run(seed: number): Promise<void> {
  const random = createRandom(seed);
  const store = createOverlappingStore(random);
  const { submit, getStatus } = new GroupCommit(store, {
    limits: {
      waitingCharacters: maxWaitingCharacters,
      writesPerBatch: random.between(1, 8),
      charactersPerBatch: random.between(4, 16),
      batchesInFlight: random.between(1, 4),
    },
  });
  const submitted: InstallationWrite[] = [];
  const refused = new Set<InstallationWrite>();
  /** The error of each write. */
  const answers: Promise<unknown>[] = [];

  for (let step = 0; step < 4; step += 1) {
    for (let writes = random.between(1, 24); writes > 0; writes -= 1) {
      const write = createWrite(random);
      const characters = [...store.waiting, write].reduce((sum, one) => sum + countCharacters(one), 0);
      if (characters > maxWaitingCharacters) refused.add(write);
      else store.waiting.add(write);
      submitted.push(write);
      answers.push(
        submit(write).then(
          () => undefined,
          (error: unknown) => error,
        ),
      );
    }
    for (let ends = random.between(0, 3); ends > 0; ends -= 1) await store.endOne();
  }
  for (let turns = 0; getStatus().waiting + getStatus().writing > 0; turns += 1) {
    assert.ok(turns < 1_000, "every write is answered");
    await store.endOne();
  }

  const applied: InstallationWrite[] = [];
  for (const [at, write] of submitted.entries()) {
    const error = await answers[at];
    assert.equal(error instanceof OverloadedError, refused.has(write), "what waits is counted exactly");
    if (refused.has(write)) continue;
    assert.equal(store.outcomes.get(write), error === undefined ? "applied" : "failed");
    if (error === undefined) applied.push(write);
  }
  const expected: Model = new Map();
  applyInOrder(expected, applied);
  assert.deepEqual(new Map([...store.model].toSorted()), new Map([...expected].toSorted()));
}

it("a group commit has the result of its acknowledged writes in order, although batches overlap and fail", async () => {
  for (let seed = 1; seed <= 200; seed += 1)
    await run(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
});
