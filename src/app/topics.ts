import type { AppOptions } from "../../http/app.ts";
import type { Audit } from "../lib/audit.ts";
import type { Lifecycle } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/logger.ts";
import { createLiveTopicIndex } from "../matching/live-topic-index.ts";
import type { Database } from "../storage/database.ts";
import { createTopicFeed } from "../storage/topic-feed.ts";
import { createTopicReader } from "../storage/topic-reader.ts";
import { createTopicStore } from "../storage/topics.ts";
import { auditAnnouncements } from "../topics/audit.ts";
import { createTopicService } from "../topics/service.ts";

interface TopicsOptions {
  readonly database: Database;
  readonly audit: Audit;
  readonly lifecycle: Lifecycle;
  /** Whether the topic index keeps namespaces. */
  readonly keepsNamespaces: boolean;
  readonly log: Logger;
}

export interface Topics extends Pick<AppOptions, "topics" | "topicReader" | "topicIndex"> {
  readonly topicStore: ReturnType<typeof createTopicStore>;
}

/** Wires the topics: storing, listing, disabling and picking them. */
export function createTopics({ database, audit, lifecycle, keepsNamespaces, log }: TopicsOptions): Topics {
  const topicStore = createTopicStore(database, log);
  const topicIndex = createLiveTopicIndex(
    createTopicFeed(database, log),
    log.child({ component: "topic-index" }),
    { keepsNamespaces },
  );
  lifecycle.onStop("topic index", () => topicIndex.close());
  return {
    topicStore,
    topicIndex,
    topics: createTopicService(topicStore, {
      changed(writes) {
        topicIndex.changed(writes);
        auditAnnouncements(audit, writes);
      },
    }),
    topicReader: createTopicReader(database),
  };
}
