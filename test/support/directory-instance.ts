import { createLogger, type Logger } from "../../src/lib/logger.ts";
import { createLiveTopicIndex, type LiveTopicIndex } from "../../src/matching/live-topic-index.ts";
import { createDatabase, type Database } from "../../src/storage/database.ts";
import { createTopicFeed } from "../../src/storage/topic-feed.ts";
import { createTopicStore } from "../../src/storage/topics.ts";
import { createTopicService, type TopicService } from "../../src/topics/service.ts";
import { until } from "./poll.ts";

/** What each running service has to pick topics with. */
export interface DirectoryInstance {
  readonly database: Database;
  readonly directory: LiveTopicIndex;
  readonly service: TopicService;
  close(): Promise<void>;
}

/** Connects to a database and makes a directory of its topics. */
export async function connectDirectory(uri: string, log?: Logger): Promise<DirectoryInstance> {
  const logger = log ?? (await createLogger("silent"));
  const database = createDatabase(uri, logger);
  await database.connect(new AbortController().signal);
  const directory = createLiveTopicIndex(createTopicFeed(database, logger), logger);
  const service = createTopicService(createTopicStore(database, logger), { changed: directory.changed });
  return {
    database,
    directory,
    service,
    close: async () => {
      await directory.close();
      await database.close();
    },
  };
}

/** A topic to create. */
export const body = (externalId: string, contentQuery: string) => ({
  externalId,
  name: externalId,
  contentQuery,
});

/** The external ids of the topics that an event with this value of `a` belongs to. */
export const picked = async ({ directory }: DirectoryInstance, a: unknown): Promise<string[]> =>
  (await directory.pick({ event: { a } })).map(({ externalId }) => externalId);

/** Waits until these are picked. */
export const comesToPick = (one: DirectoryInstance, a: unknown, expected: string[]): Promise<unknown> =>
  until(`${expected.join()} are picked`, async () => (await picked(one, a)).join() === expected.join());
