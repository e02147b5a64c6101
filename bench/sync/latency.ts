import { setTimeout as sleep } from "node:timers/promises";

import { Command } from "commander";
import type { Producer } from "kafkajs";
import type { Collection, Db } from "mongodb";

import { withContestant } from "../support/contestant.ts";
import { service } from "../support/contestants.ts";
import { announcement, openLog } from "../support/announcements.ts";
import { commonOptions, positive, type CommonOptions } from "../support/options.ts";
import { median, print, progress, quantile, type Report } from "../support/report.ts";
import { inArena, startStack, type BenchStack, type BenchStore } from "../support/stack.ts";

interface LatencyOptions extends CommonOptions {
  readonly announcements: number;
}

/** These come first and do not count: connections are opened, and code is compiled. */
const warmUps = 50;
/** Between two announcements, so that the service is idle, and in step with no timer. */
const pauseMs = { least: 20, spread: 60 };

const defaults = { announcements: 500 };

/** `bench latency`: from an announcement to its stored record, one at a time, while the service is idle. */
export const latencyCommand = (): Command => {
  const command = new Command("latency").description(
    "milliseconds from an announcement to its stored record, one at a time",
  );
  command.option("--announcements <n>", "announcements, one after another", positive, defaults.announcements);
  for (const option of commonOptions()) command.addOption(option);
  return command.action(async (options: LatencyOptions) => {
    await using stack = await startStack(options.store);
    print([await measureLatency(stack, options)], stack.broker.description, options);
  });
};

/** Milliseconds since the announcement was handed to the producer. */
interface Sample {
  readonly acknowledged: number;
  readonly stored: number;
  /** How long the look took that saw the record: it was stored at most so long before. */
  readonly look: number;
}

/** Measures the service on every store of the stack. */
export async function measureLatency(stack: BenchStack, { announcements } = defaults): Promise<Report> {
  const found = [];
  for (const store of stack.stores) {
    progress(`${store.description}: ${announcements} announcements, one at a time`);
    found.push({ store: store.description, ...figures(await samplesOn(stack, store, announcements)) });
  }
  return {
    title: "latency",
    head: [
      "store",
      "median, ms",
      "p99, ms",
      "max, ms",
      "producer's acknowledgement, median and p99, ms",
      "one look, median, ms",
    ],
    rows: found.map(({ store, stored, acknowledged, look }) => [
      store,
      ...[stored.median, stored.p99, stored.max].map((value) => value.toFixed(1)),
      `${acknowledged.median.toFixed(1)}, ${acknowledged.p99.toFixed(1)}`,
      look.median.toFixed(2),
    ]),
    notes: [
      `${announcements} announcements, from just before producer.send (acks=-1) to the first findOne by topic_id that sees the record.`,
      "One findOne follows another without a pause: a figure is too large by at most one look.",
    ],
    data: found,
  };
}

async function samplesOn(stack: BenchStack, store: BenchStore, count: number): Promise<Sample[]> {
  const topic = `bench.latency.${store.kind}`;
  await using log = await openLog(stack.broker.address, topic);
  return await inArena(stack, { store, topic }, (arena, db) =>
    withContestant(service, arena, () => takeSamples(log.producer, { topic, db, count })),
  );
}

async function takeSamples(
  producer: Producer,
  { topic, db, count }: { topic: string; db: Db; count: number },
): Promise<Sample[]> {
  const topics = db.collection("svc_api_notif_mgmt_topic");
  const samples: Sample[] = [];
  for (let number = 0; number < warmUps + count; number += 1) {
    const sample = await takeSample(producer, topics, { topic, number });
    if (number >= warmUps) samples.push(sample);
    await sleep(pauseMs.least + Math.random() * pauseMs.spread);
  }
  return samples;
}

async function takeSample(
  producer: Producer,
  topics: Collection,
  { topic, number }: { topic: string; number: number },
): Promise<Sample> {
  const message = announcement(number);
  const filter = { topic_id: message.key };
  const start = performance.now();
  const acknowledging = producer.send({ topic, acks: -1, messages: [message] }).then(() => performance.now());
  for (;;) {
    const looked = performance.now();
    const found = await topics.findOne(filter, { projection: { _id: 1 } });
    const now = performance.now();
    if (found === null) continue;
    return { acknowledged: (await acknowledging) - start, stored: now - start, look: now - looked };
  }
}

function figures(samples: readonly Sample[]) {
  const of = (name: keyof Sample) => {
    const values = samples.map((sample) => sample[name]);
    return { median: median(values), p99: quantile(values, 0.99), max: Math.max(...values) };
  };
  return { stored: of("stored"), acknowledged: of("acknowledged"), look: of("look") };
}
