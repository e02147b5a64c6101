import { createLogger, type Logger } from "@topicsync/lib/logger";
import { LiveTopicIndex } from "../../src/topics/live/live-topic-index.ts";
import { createDatabase, type Database } from "../../src/storage/database/database.ts";
import { createTopicFeed } from "../../src/storage/topics/feed.ts";
import { createTopicStore } from "../../src/storage/topics/topics.ts";
import { createTopicService, type TopicService } from "../../src/topics/service.ts";
import { until } from "./poll.ts";

/** The index of one service, with what it needs. */
export interface IndexInstance {
  readonly database: Database;
  readonly index: LiveTopicIndex;
  readonly service: TopicService;
  close(): Promise<void>;
}

/** Connects to a database and creates an index of its topics. */
export async function connectIndex(uri: string, log?: Logger): Promise<IndexInstance> {
  const logger = log ?? (await createLogger("silent"));
  const database = createDatabase(uri, logger);
  await database.connect(new AbortController().signal);
  const index = new LiveTopicIndex(createTopicFeed(database, logger), logger);
  const service = createTopicService(
    createTopicStore(database, logger, { historyRetentionDays: undefined }),
    { changed: index.changed },
  );
  return {
    database,
    index,
    service,
    close: async () => {
      await index.close();
      await database.close();
    },
  };
}

/** A topic to create. */
export const createBody = (externalId: string, contentQuery: string) => ({
  externalId,
  name: externalId,
  contentQuery,
});

/** The external ids of the topics that an event with this value of `a` belongs to. */
export const pickExternalIds = async ({ index }: IndexInstance, a: unknown): Promise<string[]> =>
  (await index.pick({ event: { a } }, undefined, "all")).topics.map(({ externalId }) => externalId);

/** Waits until these are picked. */
export const waitUntilPicked = (one: IndexInstance, a: unknown, expected: string[]): Promise<unknown> =>
  until(
    `${expected.join()} are picked`,
    async () => (await pickExternalIds(one, a)).join() === expected.join(),
  );
