import { currentDate } from "@topicsync/lib/platform";
import type { JobStore } from "@topicsync/lib/concurrency/jobs";
import { lazily } from "@topicsync/lib/lazily";
import type { Lifecycle } from "@topicsync/lib/lifecycle";
import type { Logger } from "@topicsync/lib/logger";
import type { LogStore } from "@topicsync/kafka";
import type { Config } from "../config/config.ts";
import type { DeadLetterReader, DeadLetterStore, ReplayStore, SyncState } from "../dead-letters/stores.ts";
import { createEventTypeService, type ReadSample } from "../event-types/service.ts";
import { createCatalog, type Catalog } from "../installations/catalog-cache.ts";
import { createCatalogAdministration, type CatalogStore } from "../installations/catalog.ts";
import { shareDeactivations } from "../installations/deactivation.ts";
import {
  createFeedbackService,
  type FeedbackService,
  type FeedbackStore,
} from "../installations/feedback.ts";
import { GroupCommit, type GroupCommitOptions } from "../installations/group-commit.ts";
import { createInstallationImport } from "../installations/import.ts";
import { createInstallationListing } from "../installations/listing.ts";
import { createLookUp } from "../installations/look-up.ts";
import { createInstallationService } from "../installations/service.ts";
import { createTokenLimit, type TokenLimit } from "../installations/token-limit.ts";
import { LiveTopicIndex } from "../topics/live/live-topic-index.ts";
import { createSessions, type Sessions, type SessionStore } from "../users/session.ts";
import { createCatalogStore } from "../storage/catalog.ts";
import type { Database } from "../storage/database/database.ts";
import { createDeadLetterReader, createDeadLetterStore } from "../storage/dead-letters.ts";
import { createInstallationDeactivator } from "../storage/installations/deactivation.ts";
import { createInstallationImportStore } from "../storage/installations/import.ts";
import { createInstallationReader } from "../storage/installations/reader.ts";
import { createInstallationStore } from "../storage/installations/installations.ts";
import { createJobStore } from "../storage/jobs.ts";
import { createKeyStore } from "../storage/keys.ts";
import { hasLimitedRights } from "../storage/database/limited-rights.ts";
import { createLogStore } from "../storage/logs.ts";
import { createFeedbackStore } from "../storage/installations/push-feedback.ts";
import { createReplayKey, createReplayKeyReader } from "../storage/replay-key.ts";
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
import { createDetailsService } from "../topics/details/service.ts";
import type { DomainServices } from "../operations/framework/services.ts";
import { createApply } from "../plans/apply.ts";
import { createPlanReader } from "../plans/reader.ts";
import { createTopicService, type TopicServiceOptions } from "../topics/service.ts";
import type { TopicStore } from "../topics/stores.ts";
import { createUserAdministration, type UserAdministration } from "../users/administration.ts";
import { createHashQueue } from "../users/hash-queue.ts";
import { createKeyAdministration, type KeyStore } from "../users/key.ts";
import { hashPassword } from "../users/password.ts";
import type { UserStore } from "../users/user.ts";

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
export interface Services extends DomainServices {
  readonly topicStore: TopicStore;
  readonly logStore: LogStore;

  readonly catalogStore: CatalogStore;
  readonly catalog: Catalog;

  /** The group commit of registrations and removals. */
  readonly registrations: GroupCommit;
  readonly tokenLimit: TokenLimit | undefined;
  readonly jobs: JobStore;
  readonly feedbackStore: FeedbackStore;
  readonly feedback: FeedbackService;

  readonly deadLetterStore: DeadLetterStore;
  readonly createDeadLetterReader: (deadLetterTopic: string) => DeadLetterReader;
  readonly replayStore: ReplayStore;
  /** Reads the key of the proofs of replays. Throws UnavailableError. */
  readonly getReplayKey: () => Promise<Buffer>;
  /** The same, without creating one: undefined if there is none. */
  readonly findReplayKey: () => Promise<Buffer | undefined>;
  readonly createSyncState: (groupId: string) => SyncState;

  readonly userStore: UserStore;
  readonly sessionStore: SessionStore;
  /** Whether a user or key has a right that is limited to a namespace. Throws UnavailableError. */
  readonly hasLimitedRights: () => Promise<boolean>;
  readonly sessions: Sessions;
  readonly keyStore: KeyStore;
}

/** The one place that creates stores and services. Each is created when it is first used. */
export function createServices(options: ServicesOptions): Services {
  const { config, database, log } = options;
  const { onTopicsChanged: changed, onRegistrationsWritten: onWritten } = options;
  const addComponent = (component: string): Logger => log.child({ component });
  return lazily<Services>({
    topicStore: () => createTopicStore(database, log, config),
    topicReader: () => createTopicReader(database),
    topicHistory: () => createTopicHistory(database),
    topicDetails: () => createTopicDetailsStore(database, config),
    detailsService: createDetailsService,
    topicSetStore: () => createTopicSetStore(database, config),
    planReader: ({ topicStore, topicDetails }) =>
      createPlanReader({ topics: topicStore, details: topicDetails }),
    applyChanges: ({ topics, planReader, topicSetStore }) =>
      createApply({ topics, reader: planReader, sets: topicSetStore, now: currentDate }),
    topics: ({ topicStore }) => createTopicService(topicStore, changed && { changed }),
    topicIndex: () => createTopicIndex(options),
    logStore: () => createLogStore(database),
    eventTypes: () => createEventTypeService(options.readSample, addComponent("event-types")),
    topicUsage: () => createTopicUsageStore(database),

    catalogStore: () => createCatalogStore(database),
    catalog: ({ catalogStore }) => createCatalog(catalogStore),
    applications: ({ catalogStore }) => createCatalogAdministration("application", catalogStore.applications),
    platforms: ({ catalogStore }) => createCatalogAdministration("platform", catalogStore.platforms),

    installationReader: () => createInstallationReader(database),
    installationDeactivator: () => createInstallationDeactivator(database),
    registrations: () => new GroupCommit(createInstallationStore(database), onWritten && { onWritten }),
    installations: ({ registrations: { submit }, installationDeactivator, tokenLimit, catalog }) => {
      const deactivateAll = shareDeactivations(installationDeactivator.deactivateAll);
      return createInstallationService({ submit, deactivateAll, tokenLimit }, catalog);
    },
    tokenLimit: ({ installationReader: reader, installationDeactivator: deactivator, catalogStore }) =>
      config.push.maxTokensPerUser === undefined
        ? undefined
        : createTokenLimit({
            ...{ max: config.push.maxTokensPerUser, reader, deactivator },
            platforms: catalogStore.platforms,
          }),
    lookUp: ({ installationReader, catalogStore }) => createLookUp(installationReader, catalogStore),
    jobs: () => createJobStore(database),
    installationListing: ({ installationReader, catalogStore }) =>
      createInstallationListing(installationReader, catalogStore),
    importInstallations: ({ catalog }) =>
      createInstallationImport(createInstallationImportStore(database), catalog),
    feedbackStore: () => createFeedbackStore(database, addComponent("push-feedback")),
    feedback: ({ feedbackStore, catalog }) => createFeedbackService(feedbackStore, catalog),

    deadLetterStore: () => createDeadLetterStore(database, addComponent("dead-letters")),
    createDeadLetterReader: () => (topic) => createDeadLetterReader(database, topic),
    replayStore: () => createReplayStore(database),
    getReplayKey: () => createReplayKey(database),
    findReplayKey: () => createReplayKeyReader(database),
    createSyncState: () => (groupId) => createSyncState(database, groupId),

    userStore: () => createUserStore(database),
    sessionStore: () => createSessionStore(database),
    hasLimitedRights: () => () => hasLimitedRights(database),
    users: createUsers,
    keyStore: () => createKeyStore(database),
    keys: ({ keyStore }) => createKeyAdministration(keyStore, config.maxKeyDays),
    sessions: ({ sessionStore, userStore }) =>
      createSessions({ store: sessionStore, users: userStore, issuer: config.signIn?.issuer }),
  });
}

function createTopicIndex({ database, lifecycle, log }: ServicesOptions): LiveTopicIndex {
  const feed = createTopicFeed(database, log);
  const index = new LiveTopicIndex(feed, log.child({ component: "topic-index" }));
  lifecycle.onStop("topic index", () => index.close());
  return index;
}

function createUsers({ userStore, sessionStore }: Services): UserAdministration {
  // A queue of its own: strangers can fill that of the logins.
  const queue = createHashQueue({ concurrency: 1 });
  return createUserAdministration({
    users: userStore,
    sessions: sessionStore,
    hash: (password) => queue.run("first", () => hashPassword(password)),
  });
}
