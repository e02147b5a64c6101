import { Command } from "commander";
import type { Db } from "mongodb";

import type { TopicBody } from "../schemas/topic.ts";
import { createLogger } from "../src/lib/logger.ts";
import { createDatabase } from "../src/storage/database.ts";
import { createTopicReader } from "../src/storage/topic-reader.ts";
import { toTopicRecord, type TopicRecord } from "../src/storage/topic-records.ts";
import {
  createTopicListing,
  encodeTopicCursor,
  type TopicListing,
  type TopicOrder,
  type TopicPageQuery,
} from "../src/topics/listing.ts";
import { toDefinition, type Topic } from "../src/topics/topic.ts";
import { newId } from "../src/lib/sys-id.ts";
import { announcement } from "./support/announcements.ts";
import { jsonOption, positive } from "./support/options.ts";
import { print, progress, quantile, type Report } from "./support/report.ts";
import { inArena, startStack } from "./support/stack.ts";

interface TopicPagesOptions {
  readonly topics: number;
  readonly json?: true;
}

const defaultTopics = 100_000;
const topicsPerInsertion = 2_000;
const topicsPerPage = 50;
const samples = 30;

/**
 * `bench topic-pages`: the latency of one page of topics, by order, search and filter. On the embedded store
 * only.
 */
export const topicPagesCommand = (): Command =>
  new Command("topic-pages")
    .description("latency of one page of topics on the embedded store, by order, search and filter")
    .option("--topics <n>", "stored topics", positive, defaultTopics)
    .addOption(jsonOption())
    .action(async (options: TopicPagesOptions) => {
      await using stack = await startStack("embedded");
      const reports: Report[] = [];
      for (const store of stack.stores) {
        const report = await inArena(stack, { store, topic: "bench.topic-pages" }, async ({ uri }, db) => {
          await insertTopics(db, options.topics);
          const database = createDatabase(uri, await createLogger("silent"));
          await database.connect(new AbortController().signal);
          try {
            return await measurePages(createTopicListing(createTopicReader(database)), options.topics);
          } finally {
            await database.close();
          }
        });
        reports.push({ ...report, title: `topic-pages, ${store.description}` });
      }
      print(reports, stack.broker.description, options);
    });

/** Inserts the topics of the other benchmarks, in batches as large as those of the sync. */
async function insertTopics(db: Db, count: number): Promise<void> {
  const topics = db.collection<TopicRecord>("svc_api_notif_mgmt_topic");
  for (let from = 0; from < count; from += topicsPerInsertion) {
    if (from % 100_000 === 0) progress(`${from} of ${count} topics are stored`);
    const now = new Date();
    const size = Math.min(topicsPerInsertion, count - from);
    await topics.insertMany(
      Array.from({ length: size }, (_, i) => toTopicRecord(createTopic(from + i, now))),
      { ordered: false },
    );
  }
}

const createTopic = (number: number, now: Date): Topic => ({
  ...toDefinition(JSON.parse(announcement(number).value) as TopicBody),
  id: newId(),
  source: { kind: "announcement", topic: "bench.topic-pages", partition: 0, offset: number },
  createdOn: now,
  updatedOn: now,
});

/** Reads pages as the HTTP operation does, in this process, one after another. */
export async function measurePages(listing: TopicListing, count: number): Promise<Report> {
  const rows: (string | number)[][] = [];
  for (const [name, prepare] of createCases(listing, count)) {
    progress(name);
    const times: number[] = [];
    for (let i = 0; i < samples; i += 1) {
      const read = await prepare();
      const start = performance.now();
      await read();
      times.push(performance.now() - start);
    }
    rows.push([name, ...[quantile(times, 0.5), quantile(times, 0.95), Math.max(...times)].map(format)]);
  }
  return {
    title: "topic-pages",
    head: ["a page of 50", "p50, ms", "p95, ms", "maximum, ms"],
    rows,
    notes: [`${count} topics, ${samples} samples each; pages in the middle begin at a random topic.`],
    data: rows,
  };
}

const format = (ms: number): string => ms.toFixed(1);

/** Looks up what the read needs, outside the measurement, and returns the read. */
type Prepare = () => Promise<() => Promise<unknown>>;

function createCases(listing: TopicListing, count: number): [string, Prepare][] {
  const anyKey = (): string => announcement(Math.floor(Math.random() * count)).key;
  const page = (query: Omit<TopicPageQuery, "state">, after?: string) => () =>
    listing.readPage({ state: "active", ...query }, { after, limit: topicsPerPage });
  const always =
    (read: () => Promise<unknown>): Prepare =>
    () =>
      Promise.resolve(read);
  const middle = (order: TopicOrder): Prepare => {
    return async () => {
      const topic = await listing.find(anyKey());
      if (topic === undefined) throw new Error("a stored topic is not found");
      return page({ order }, encodeTopicCursor(topic, order));
    };
  };
  const orders: TopicOrder[] = (["externalId", "name", "changed"] as const).flatMap((sort) => [
    { sort, descending: false },
    { sort, descending: true },
  ]);
  const label = ({ sort, descending }: TopicOrder): string => `${descending ? "-" : ""}${sort}`;
  return [
    ...orders.map((order): [string, Prepare] => [`first by ${label(order)}`, always(page({ order }))]),
    ...orders.map((order): [string, Prepare] => [`in the middle by ${label(order)}`, middle(order)]),
    ["search by a prefix of an external id", () => Promise.resolve(page({ search: anyKey().slice(0, -2) }))],
    ["search by a prefix of a name", always(page({ search: "Topic of the benchmark 7" }))],
    ["search without a match", always(page({ search: "nothing" }))],
    ["in one of four namespaces", always(page({ namespace: "billing" }))],
    ["one topic", () => Promise.resolve(() => listing.find(anyKey()))],
  ];
}
