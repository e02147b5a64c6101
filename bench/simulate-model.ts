import { OverloadedError } from "../src/lib/errors.ts";
import { createGroupCommit } from "../src/installations/group-commit.ts";
import type { InstallationWrite } from "../src/installations/stores.ts";
import { createClock } from "./simulate-clock.ts";

/** A service of many instances over a sharded store. Times are milliseconds. */
export interface Model {
  /** Registrations a second, of all clients. */
  readonly rate: number;
  /** For so long clients come. */
  readonly seconds: number;
  readonly instances: number;
  /** Of an instance's one processor, for each registration. */
  readonly requestMs: number;
  readonly shards: number;
  /** Commands that a shard works on at once. */
  readonly workers: number;
  /** Of a shard's worker, for each command and for each registration in it. */
  readonly commandMs: number;
  readonly writeMs: number;
  /** Until a majority of a shard's members has it in the journal: the median, and the 99th percentile. */
  readonly commitMs: number;
  readonly slowCommitMs: number;
  /** One shard has no primary: from when, and for how long. */
  readonly outage?: { readonly fromMs: number; readonly forMs: number };
  readonly seed: number;
}

/** What came of it. */
export interface Simulated {
  readonly answered: number;
  /** 503 OVERLOADED, since too many waited. */
  readonly refused: number;
  /** From a request's arrival to its answer, of each that was answered; in no order. */
  readonly latencies: readonly number[];
  readonly registrationsABulk: number;
  /** How much of its time an instance's processor, and a shard's worker, was busy while clients came. */
  readonly instanceUse: number;
  readonly shardUse: number;
}

/**
 * Simulates registrations of tokens that are spread evenly, by clients that do not wait for each other. Each instance runs the
 * service's own group commit; a bulk goes to the shards of its tokens, and is done when the slowest of them is.
 */
export async function simulate(model: Model): Promise<Simulated> {
  const random = createRandom(model.seed);
  const clock = createClock();
  const end = model.seconds * 1_000;
  const shards = createShards(model, random, clock.now);
  const found = { answered: 0, refused: 0, bulks: 0, written: 0, busy: 0 };
  const latencies: number[] = [];

  const store = {
    write(writes: readonly InstallationWrite[]): Promise<[]> {
      found.bulks += 1;
      found.written += writes.length;
      const done = Promise.withResolvers<[]>();
      clock.at(shards.write(writes.length), () => {
        done.resolve([]);
      });
      return done.promise;
    },
  };

  const instances = Array.from({ length: model.instances }, () => {
    const commit = createGroupCommit(store);
    let freeAt = 0;
    return (token: string): void => {
      const cameAt = clock.now();
      freeAt = Math.max(freeAt, cameAt) + model.requestMs;
      found.busy += model.requestMs;
      clock.at(freeAt, () => {
        commit.submit(registrationOf(token)).then(
          () => {
            found.answered += 1;
            latencies.push(clock.now() - cameAt);
          },
          (error: unknown) => {
            if (!(error instanceof OverloadedError)) throw error;
            found.refused += 1;
          },
        );
      });
    };
  });

  let number = 0;
  const comeAfter = (time: number): void => {
    const at = time - (Math.log(1 - random()) * 1_000) / model.rate;
    if (at >= end) return;
    clock.at(at, () => {
      instances[Math.floor(random() * instances.length)]?.(String((number += 1)));
      comeAfter(at);
    });
  };
  comeAfter(0);
  await clock.run();
  return {
    answered: found.answered,
    refused: found.refused,
    latencies,
    registrationsABulk: found.written / found.bulks,
    instanceUse: found.busy / (end * model.instances),
    shardUse: shards.busyMs() / (end * model.shards * model.workers),
  };
}

const registrationOf = (token: string): InstallationWrite => ({
  kind: "register",
  key: { application: "app", platform: "platform", token },
  user: "user",
});

/** Workers that take what comes in its order. */
function createShards(model: Model, random: () => number, now: () => number) {
  const { shards, workers, commandMs, writeMs, commitMs, slowCommitMs, outage } = model;
  // Of the logarithms of a log-normal distribution; 2.326 is the normal distribution's 99th percentile.
  const spread = Math.log(slowCommitMs / commitMs) / 2.326;
  const freeAt = Array.from({ length: shards }, () => new Float64Array(workers));
  let busyMs = 0;

  /** When a command with so many registrations is done. */
  function command(shard: number, writes: number): number {
    const free = freeAt[shard] ?? new Float64Array(1);
    let worker = 0;
    for (let i = 1; i < free.length; i += 1) if ((free[i] ?? 0) < (free[worker] ?? 0)) worker = i;
    let from = Math.max(now(), free[worker] ?? 0);
    if (shard === 0 && outage !== undefined && from >= outage.fromMs && from < outage.fromMs + outage.forMs)
      from = outage.fromMs + outage.forMs;
    const took = commandMs + writes * writeMs;
    busyMs += took;
    free[worker] = from + took;
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return from + took + commitMs * Math.exp(spread * normal);
  }

  return {
    busyMs: () => busyMs,
    /** When a bulk of so many registrations, each for any shard, is done. */
    write(writes: number): number {
      const counts = new Map<number, number>();
      for (let i = 0; i < writes; i += 1) {
        const shard = Math.floor(random() * shards);
        counts.set(shard, (counts.get(shard) ?? 0) + 1);
      }
      return Math.max(...[...counts].map(([shard, count]) => command(shard, count)));
    },
  };
}

/** Numbers from 0 up to 1, the same ones for the same seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
