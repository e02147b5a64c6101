import { currentDate } from "@topicsync/lib/platform";
import type { Lifecycle } from "@topicsync/lib/lifecycle";
import type { Logger } from "@topicsync/lib/logger";
import type { Config } from "../config/config.ts";
import { createEventTypeService, type ReadSample } from "../event-types/service.ts";
import { createCatalog } from "../installations/catalog-cache.ts";
import { createCatalogAdministration } from "../installations/catalog.ts";
import { shareDeactivations } from "../installations/deactivation.ts";
import { createFeedbackService } from "../installations/feedback.ts";
import { GroupCommit, type GroupCommitOptions } from "../installations/group-commit.ts";
import { createInstallationImport } from "../installations/import.ts";
import { createInstallationListing } from "../installations/listing.ts";
import { createLookUp } from "../installations/look-up.ts";
import { createInstallationService } from "../installations/service.ts";
import { createTokenLimit } from "../installations/token-limit.ts";
import { LiveTopicIndex } from "../topics/live/live-topic-index.ts";
import { createSessions, type SessionStore } from "../users/session.ts";
import { createBackfillStore } from "../storage/backfills.ts";
import { createCatalogStore } from "../storage/catalog.ts";
import type { Database } from "../storage/database/database.ts";
import { createDeadLetterReader, createDeadLetterStore } from "../storage/dead-letters.ts";
import { createErasureStore } from "../storage/erasures.ts";
import { createInstallationDeactivator } from "../storage/installations/deactivation.ts";
import { createInstallationImportStore } from "../storage/installations/import.ts";
import { createInstallationReader } from "../storage/installations/reader.ts";
import { createInstallationStore } from "../storage/installations/installations.ts";
import { createJobStore } from "../storage/jobs.ts";
import { createKeyStore } from "../storage/keys.ts";
import { hasLimitedRights } from "../storage/database/limited-rights.ts";
import { createLogStore } from "../storage/logs.ts";
import { createFeedbackStore } from "../storage/installations/push-feedback.ts";
import { createReplayKey } from "../storage/replay-key.ts";
import { createReplayStore } from "../storage/replays.ts";
import { createSessionStore } from "../storage/sessions.ts";
import { createSyncState } from "../storage/sync-state.ts";
import { createTopicDetailsStore } from "../storage/topics/details.ts";
import { createTopicFeed } from "../storage/topics/feed.ts";
import { createTopicHistory } from "../storage/topics/history.ts";
import { createTopicReader } from "../storage/topics/reader.ts";
import { createTopicSetStore } from "../storage/topics/sets.ts";
import { createTopicUsageStore } from "../storage/topics/usage.ts";
import { createTopicStore } from "../storage/topics/topics.ts";
import { createUserStore } from "../storage/users.ts";
import { createApply } from "../plans/apply.ts";
import { createPlanReader } from "../plans/reader.ts";
import { createTopicService, type TopicServiceOptions } from "../topics/service.ts";
import { createUserAdministration, type UserAdministration } from "../users/administration.ts";
import { createErase, createIsBeingErased } from "../users/erasure.ts";
import { createHashQueue } from "../users/hash-queue.ts";
import { createKeyAdministration } from "../users/key.ts";
import { hashPassword } from "../users/password.ts";
import type { IsBeingErased, UserStore } from "../users/user.ts";

export interface ServicesOptions {
  readonly config: Pick<Config, "signIn" | "historyRetentionDays" | "push" | "maxKeyDays">;
  readonly database: Database;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  /** Undefined: no events topic is configured. */
  readonly readSample?: ReadSample | undefined;
  /** Called with what the topic service has written. */
  readonly onTopicsChanged?: TopicServiceOptions["changed"];
  /** Called with each bulk write of registrations and removals. */
  readonly onRegistrationsWritten?: GroupCommitOptions["onWritten"];
}

/** The stores and services over a database, for the service and for the commands. */
export type Services = ReturnType<typeof createServices>;

/** The one place that creates stores and services. None does anything before it is used. */
export function createServices(options: ServicesOptions) {
  const { config, database, log } = options;
  const { onTopicsChanged: changed, onRegistrationsWritten: onWritten } = options;
  const addComponent = (component: string): Logger => log.child({ component });

  const topicStore = createTopicStore(database, log, config);
  const topicReader = createTopicReader(database);
  const topicDetails = createTopicDetailsStore(database, config);
  const topicSetStore = createTopicSetStore(database, config);
  const topics = createTopicService(topicStore, changed && { changed });
  const eventTypes = createEventTypeService(options.readSample, addComponent("event-types"));
  const planReader = createPlanReader({ topics: topicStore, details: topicDetails });

  const catalogStore = createCatalogStore(database);
  const catalog = createCatalog(catalogStore);
  const installationReader = createInstallationReader(database);
  const installationDeactivator = createInstallationDeactivator(database);
  const registrations = new GroupCommit(createInstallationStore(database), onWritten && { onWritten });
  const { maxTokensPerUser: max } = config.push;
  const { platforms } = catalogStore;
  const tokenLimit =
    max === undefined
      ? undefined
      : createTokenLimit({
          max,
          reader: installationReader,
          deactivator: installationDeactivator,
          platforms,
        });
  const deactivateAll = shareDeactivations(installationDeactivator.deactivateAll);
  const feedbackStore = createFeedbackStore(database, addComponent("push-feedback"));

  const userStore = createUserStore(database);
  const sessionStore = createSessionStore(database);
  const keyStore = createKeyStore(database);
  const erasureStore = createErasureStore(database);
  const isBeingErased = createIsBeingErased(erasureStore);
  const replayKey = createReplayKey(database);
  const { getReplayKey: getSecret } = replayKey;

  return {
    topicStore,
    topicReader,
    topicHistory: createTopicHistory(database),
    topicDetails,
    topicSetStore,
    planReader,
    applyChanges: createApply({ topics, reader: planReader, sets: topicSetStore, now: currentDate }),
    topics,
    topicIndex: createTopicIndex(options),
    logStore: createLogStore(database),
    backfillStore: createBackfillStore(database),
    eventTypes,
    topicUsage: createTopicUsageStore(database),

    catalogStore,
    catalog,
    applications: createCatalogAdministration("application", catalogStore.applications),
    platforms: createCatalogAdministration("platform", platforms),

    installationReader,
    installationDeactivator,
    registrations,
    installations: createInstallationService(
      { submit: registrations.submit, deactivateAll, tokenLimit },
      catalog,
    ),
    lookUp: createLookUp(installationReader, catalogStore),
    jobs: createJobStore(database),
    installationListing: createInstallationListing(installationReader, catalogStore),
    importInstallations: createInstallationImport(createInstallationImportStore(database), catalog),
    feedbackStore,
    feedback: createFeedbackService(feedbackStore, catalog),

    deadLetterStore: createDeadLetterStore(database, addComponent("dead-letters")),
    createDeadLetterReader: (topic: string) => createDeadLetterReader(database, topic),
    replayStore: createReplayStore(database),
    ...replayKey,
    createSyncState: (groupId: string) => createSyncState(database, groupId),

    userStore,
    users: createUsers(userStore, sessionStore, isBeingErased),
    isBeingErased,
    erase: createErase({ store: erasureStore, users: userStore, sessions: sessionStore, getSecret }),
    keyStore,
    keys: createKeyAdministration(keyStore, config.maxKeyDays),
    sessions: createSessions({
      ...{ store: sessionStore, users: userStore, isBeingErased },
      issuer: config.signIn?.issuer,
    }),
    hasLimitedRights: () => hasLimitedRights(database),
  };
}

function createTopicIndex({ database, lifecycle, log }: ServicesOptions): LiveTopicIndex {
  const feed = createTopicFeed(database, log);
  const index = new LiveTopicIndex(feed, log.child({ component: "topic-index" }));
  lifecycle.onStop("topic index", () => index.close());
  return index;
}

function createUsers(
  users: UserStore,
  sessions: SessionStore,
  isBeingErased: IsBeingErased,
): UserAdministration {
  // A queue of its own: strangers can fill that of the logins.
  const queue = createHashQueue({ concurrency: 1 });
  const hash = (password: string): Promise<string> => queue.run("first", () => hashPassword(password));
  return createUserAdministration({ users, sessions, isBeingErased, hash });
}
