import { createLogger } from "@topicsync/lib/logger";
import { Command } from "commander";
import { createDatabase } from "../src/storage/database/database.ts";
import { createTopicDetailsStore } from "../src/storage/topics/details.ts";
import { createTopicReader } from "../src/storage/topics/reader.ts";
import type { TopicSources } from "../src/topics/details/search.ts";
import type { TopicOrder } from "../src/topics/listing.ts";
import { encodeTopicCursor, readTopicPage, type TopicPageQuery } from "../src/topics/topic-pages.ts";
import { createAnnouncement, createTopicBodies } from "./support/announcements.ts";
import { createJsonOption, parsePositive } from "./support/options.ts";
import { printReports, reportProgress, quantile, type Report } from "./support/report.ts";
import { insertTopics } from "./support/topics.ts";
import { withWorkspace, startStack } from "./support/stack.ts";

interface TopicPagesOptions {
  readonly topics: number;
  readonly json?: true;
}

const defaultTopics = 100_000;
const topicsPerPage = 50;
const samples = 30;

export const topicPagesCommand = (): Command =>
  new Command("topic-pages")
    .description("latency of one page of topics on the embedded store, by order, search and filter")
    .option("--topics <n>", "number of stored topics", parsePositive, defaultTopics)
    .addOption(createJsonOption())
    .action(async (options: TopicPagesOptions) => {
      await using stack = await startStack("embedded");
      const reports: Report[] = [];
      for (const store of stack.stores) {
        const report = await withWorkspace(
          stack,
          { store, topic: "bench.topic-pages" },
          async ({ uri }, db) => {
            await insertTopics(db, createTopicBodies(options.topics));
            const database = createDatabase(uri, await createLogger("silent"));
            await database.connect(new AbortController().signal);
            try {
              return await measurePages(
                {
                  topicReader: createTopicReader(database),
                  topicDetails: createTopicDetailsStore(database, { historyRetentionDays: undefined }),
                },
                options.topics,
              );
            } finally {
              await database.close();
            }
          },
        );
        reports.push({ ...report, title: `topic-pages, ${store.description}` });
      }
      printReports(reports, stack.broker.description, options);
    });

/** Reads pages one after another, with the service that the HTTP operation uses. */
export async function measurePages(sources: TopicSources, count: number): Promise<Report> {
  const rows: (string | number)[][] = [];
  for (const [name, prepare] of createCases(sources, count)) {
    reportProgress(name);
    const times: number[] = [];
    for (let i = 0; i < samples; i += 1) {
      const read = await prepare();
      const start = performance.now();
      await read();
      times.push(performance.now() - start);
    }
    rows.push([
      name,
      formatMs(quantile(times, 0.5)),
      formatMs(quantile(times, 0.95)),
      formatMs(Math.max(...times)),
    ]);
  }
  return {
    title: "topic-pages",
    head: ["page of 50 topics", "p50, ms", "p95, ms", "maximum, ms"],
    rows,
    notes: [`${count} topics, ${samples} samples each; pages in the middle start at a random topic.`],
    data: rows,
  };
}

const formatMs = (ms: number): string => ms.toFixed(1);

/** Looks up what the read needs, outside the measurement, and returns the read. */
type Prepare = () => Promise<() => Promise<unknown>>;

function createCases(sources: TopicSources, count: number): [string, Prepare][] {
  const pickKey = (): string => createAnnouncement(Math.floor(Math.random() * count)).key;
  const createPageReader = (query: Omit<TopicPageQuery, "state" | "namespaces">, after?: string) => () =>
    readTopicPage(sources, { state: "active", namespaces: "all", ...query }, { after, limit: topicsPerPage });
  const prepareNothing =
    (read: () => Promise<unknown>): Prepare =>
    () =>
      Promise.resolve(read);
  const prepareCursor = (order: TopicOrder): Prepare => {
    return async () => {
      const topic = await sources.topicReader.find(pickKey());
      if (topic === undefined) throw new Error("stored topic not found");
      return createPageReader({ order }, encodeTopicCursor(topic, order));
    };
  };
  const orders: TopicOrder[] = (["externalId", "name", "changed"] as const).flatMap((sort) => [
    { sort, descending: false },
    { sort, descending: true },
  ]);
  const formatOrder = ({ sort, descending }: TopicOrder): string => `${descending ? "-" : ""}${sort}`;
  return [
    ...orders.map((order): [string, Prepare] => [
      `first by ${formatOrder(order)}`,
      prepareNothing(createPageReader({ order })),
    ]),
    ...orders.map((order): [string, Prepare] => [
      `in the middle by ${formatOrder(order)}`,
      prepareCursor(order),
    ]),
    [
      "search by a prefix of an external id",
      () => Promise.resolve(createPageReader({ search: pickKey().slice(0, -2) })),
    ],
    [
      "search by a prefix of a name",
      prepareNothing(createPageReader({ search: "Topic of the benchmark 7" })),
    ],
    ["search without a match", prepareNothing(createPageReader({ search: "nothing" }))],
    ["in one of four namespaces", prepareNothing(createPageReader({ namespace: "billing" }))],
    ["one topic", () => Promise.resolve(() => sources.topicReader.find(pickKey()))],
  ];
}
