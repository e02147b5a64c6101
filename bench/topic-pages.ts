import { Command } from "commander";
import type { Db } from "mongodb";

import type { TopicBody } from "../schemas/topic.ts";
import { createLogger } from "../src/lib/logger.ts";
import { createDatabase } from "../src/storage/database.ts";
import { createTopicReader } from "../src/storage/topic-pages.ts";
import { toTopicRecord, type TopicRecord } from "../src/storage/topic-records.ts";
import { encodeCursor, type Way } from "../src/topics/list-cursor.ts";
import { createTopicListing, type TopicListing, type TopicQuery } from "../src/topics/listing.ts";
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

const defaultTopics = 1_000_000;
const topicsAnInsertion = 2_000;
const topicsAPage = 50;
const pagesEach = 30;

/**
 * `bench topic-pages`: how long a page of the stored topics takes, in each order and from anywhere. On the embedded store only:
 * mongo-java-server has no index in any order, so a page from the middle sorts all topics there.
 */
export const topicPagesCommand = (): Command =>
  new Command("topic-pages")
    .description(
      "time for a page of the stored topics on the embedded store, by each order, search and filter",
    )
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

/** Stores the topics of the announcements of the other measurements, as batches of the sync do. */
async function insertTopics(db: Db, count: number): Promise<void> {
  const topics = db.collection<TopicRecord>("svc_api_notif_mgmt_topic");
  for (let from = 0; from < count; from += topicsAnInsertion) {
    if (from % 100_000 === 0) progress(`${from} of ${count} topics are stored`);
    const now = new Date();
    const size = Math.min(topicsAnInsertion, count - from);
    await topics.insertMany(
      Array.from({ length: size }, (_, i) => toTopicRecord(topicOf(from + i, now))),
      { ordered: false },
    );
  }
}

const topicOf = (number: number, now: Date): Topic => ({
  ...toDefinition(JSON.parse(announcement(number).value) as TopicBody),
  id: newId(),
  source: { kind: "announcement", topic: "bench.topic-pages", partition: 0, offset: number },
  createdOn: now,
  updatedOn: now,
});

/** Asks for pages as the HTTP operation does, in one process, one after another. */
export async function measurePages(listing: TopicListing, count: number): Promise<Report> {
  const rows: (string | number)[][] = [];
  for (const [what, ask] of questions(listing, count)) {
    progress(what);
    const times: number[] = [];
    for (let i = 0; i < pagesEach; i += 1) {
      const question = await ask();
      const start = performance.now();
      await question();
      times.push(performance.now() - start);
    }
    rows.push([what, ...[quantile(times, 0.5), quantile(times, 0.95), Math.max(...times)].map(rounded)]);
  }
  return {
    title: "topic-pages",
    head: ["a page of 50", "p50, ms", "p95, ms", "longest, ms"],
    rows,
    notes: [`${count} topics, each page asked for ${pagesEach} times; those in the middle from anywhere.`],
    data: rows,
  };
}

const rounded = (ms: number): string => ms.toFixed(1);

type Question = () => Promise<() => Promise<unknown>>;

/** What is asked; what has to be known for it is looked up before the clock runs. */
function questions(listing: TopicListing, count: number): [string, Question][] {
  const anyKey = (): string => announcement(Math.floor(Math.random() * count)).key;
  const page = (query: Omit<TopicQuery, "state">, after?: string) => () =>
    listing.page({ state: "stored", ...query }, { after, limit: topicsAPage });
  const middle = (way: Way, placeOf: (topic: Topic) => string | Date): Question => {
    return async () => {
      const topic = (await listing.find(anyKey()))?.topic;
      if (topic === undefined) throw new Error("a stored topic is not found");
      return page({ way }, encodeCursor(way, { place: [placeOf(topic)], id: topic.id }));
    };
  };
  const always =
    (question: () => Promise<unknown>): Question =>
    () =>
      Promise.resolve(question);
  const ways: Way[] = ["externalId", "-externalId", "name", "-name", "changed", "-changed"];
  return [
    ...ways.map((way): [string, Question] => [`first by ${way}`, always(page({ way }))]),
    ["in the middle by externalId", middle("externalId", ({ externalId }) => externalId)],
    ["in the middle by -name", middle("-name", ({ name }) => name)],
    ["in the middle by -changed", middle("-changed", ({ updatedOn }) => updatedOn)],
    ["search, by an external id's beginning", () => Promise.resolve(page({ search: anyKey().slice(0, -2) }))],
    ["search, by a name's beginning", always(page({ search: "Topic of the benchmark 7" }))],
    ["search, nothing found", always(page({ search: "nothing" }))],
    ["in a namespace of four", always(page({ namespace: "billing" }))],
    ["one topic", () => Promise.resolve(() => listing.find(anyKey()))],
  ];
}
