import { setTimeout as sleep } from "node:timers/promises";

import { Command } from "commander";
import type { Producer } from "kafkajs";
import type { Collection, Db } from "mongodb";

import { service, withContestant } from "../support/contestant.ts";
import { createAnnouncement, openTopic } from "../support/announcements.ts";
import { createCommonOptions, parsePositive, type CommonOptions } from "../support/options.ts";
import { median, printReports, reportProgress, quantile, type Report } from "../support/report.ts";
import { withWorkspace, startStack, type BenchStack, type BenchStore } from "../support/stack.ts";

interface LatencyOptions extends CommonOptions {
  readonly announcements: number;
}

/** Not counted; they open connections and compile code. */
const warmUps = 50;
/** Random, so that the service is idle between announcements and in step with no timer. */
const pauseMs = { least: 20, spread: 60 };

const defaults = { announcements: 500 };

export const latencyCommand = (): Command => {
  const command = new Command("latency").description(
    "milliseconds from an announcement to its stored record, one at a time",
  );
  command.option("--announcements <n>", "number of announcements", parsePositive, defaults.announcements);
  for (const option of createCommonOptions()) command.addOption(option);
  return command.action(async (options: LatencyOptions) => {
    await using stack = await startStack(options.store);
    printReports([await measureLatency(stack, options)], stack.broker.description, options);
  });
};

/** In ms since just before producer.send. */
interface Sample {
  readonly acknowledged: number;
  readonly stored: number;
  /** Duration of the query that found the record, which bounds the error of `stored`. */
  readonly query: number;
}

export async function measureLatency(stack: BenchStack, { announcements } = defaults): Promise<Report> {
  const found = [];
  for (const store of stack.stores) {
    reportProgress(`${store.description}: ${announcements} announcements, one at a time`);
    found.push({ store: store.description, ...summarize(await takeAllSamples(stack, store, announcements)) });
  }
  return {
    title: "latency",
    head: [
      "store",
      "median, ms",
      "p99, ms",
      "max, ms",
      "producer's acknowledgement, median and p99, ms",
      "one query, median, ms",
    ],
    rows: found.map(({ store, stored, acknowledged, look: query }) => [
      store,
      stored.median.toFixed(1),
      stored.p99.toFixed(1),
      stored.max.toFixed(1),
      `${acknowledged.median.toFixed(1)}, ${acknowledged.p99.toFixed(1)}`,
      query.median.toFixed(2),
    ]),
    notes: [
      `${announcements} announcements, from just before producer.send (acks=-1) to the first findOne by topic_id that returns the record.`,
      "Queries follow each other without a pause, so a figure is too large by at most one query.",
    ],
    data: found,
  };
}

async function takeAllSamples(stack: BenchStack, store: BenchStore, count: number): Promise<Sample[]> {
  const topic = `bench.latency.${store.kind}`;
  await using source = await openTopic(stack.broker.address, topic);
  return await withWorkspace(stack, { store, topic }, (workspace, db) =>
    withContestant(service, workspace, () => takeSamples(source.producer, { topic, db, count })),
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
  const message = createAnnouncement(number);
  const filter = { topic_id: message.key };
  const start = performance.now();
  const acknowledging = producer.send({ topic, acks: -1, messages: [message] }).then(() => performance.now());
  for (;;) {
    const queryStart = performance.now();
    const found = await topics.findOne(filter, { projection: { _id: 1 } });
    const now = performance.now();
    if (found === null) continue;
    return { acknowledged: (await acknowledging) - start, stored: now - start, query: now - queryStart };
  }
}

function summarize(samples: readonly Sample[]) {
  const summarizeValues = (name: keyof Sample) => {
    const values = samples.map((sample) => sample[name]);
    return { median: median(values), p99: quantile(values, 0.99), max: Math.max(...values) };
  };
  return {
    stored: summarizeValues("stored"),
    acknowledged: summarizeValues("acknowledged"),
    look: summarizeValues("query"),
  };
}
