import { createAnnouncementHandler } from "../../consumers/announcements/handler.ts";
import { createGroupConsumer } from "../../consumers/group-consumer.ts";
import { createApp } from "../../http/app.ts";
import { readConsoleFiles } from "../../http/routes/console.ts";
import { buildRedirectUri, type OpenIdOptions } from "../../http/routes/openid-sign-in.ts";
import { listen } from "../../http/framework/server.ts";
import { openAuditLog } from "../lib/audit-log.ts";
import { bootstrap } from "./bootstrap.ts";
import type { Config } from "../config.ts";
import { createCatalogAdministration } from "../installations/catalog.ts";
import { createCatalog } from "../installations/catalog-cache.ts";
import { createGroupCommit } from "../installations/group-commit.ts";
import { shareDeactivations } from "../installations/deactivation.ts";
import { auditFeedback } from "../installations/feedback.ts";
import { createInstallationListing } from "../installations/listing.ts";
import { createInstallationService } from "../installations/service.ts";
import { createDeadLetterServices } from "./dead-letters.ts";
import { createBroker } from "../kafka/client.ts";
import type { Lifecycle } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/logger.ts";
import { createMetrics } from "./metrics.ts";
import { createHistory } from "./overview/history.ts";
import { createOverview } from "./overview/overview.ts";
import { createLiveTopicIndex } from "../matching/live-topic-index.ts";
import { createReadiness } from "./readiness.ts";
import { retryUntilAvailable } from "../lib/retry.ts";
import { createPushFeedback } from "./push-feedback.ts";
import { createOpenIdSignIn } from "../sessions/openid-sign-in.ts";
import { createSessions } from "../sessions/session.ts";
import { createCatalogStore } from "../storage/catalog.ts";
import { createDatabase } from "../storage/database.ts";
import { createInstallationDeactivator } from "../storage/installation-deactivation.ts";
import { createInstallationReader } from "../storage/installation-reader.ts";
import { createInstallationStore } from "../storage/installations.ts";
import { createSessionStore } from "../storage/sessions.ts";
import { createRetiredTopicStore } from "../storage/retired-topics.ts";
import { createTopicFeed } from "../storage/topic-feed.ts";
import { createTopicReader } from "../storage/topic-reader.ts";
import { createTopicStore } from "../storage/topics.ts";
import { createUserStore } from "../storage/users.ts";
import { createStatus } from "../sync/status.ts";
import { createFeedbackTally, createTally } from "../sync/tally.ts";
import { auditAnnouncements } from "../topics/audit.ts";
import { createTopicListing } from "../topics/listing.ts";
import { createTopicService } from "../topics/service.ts";
import { createTopicSwitch } from "../topics/switch.ts";
import { newId } from "../lib/sys-id.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { readTlsPair } from "../lib/tls.ts";
import { createUserAdministration } from "../users/administration.ts";
import { createAuthenticate } from "../users/authenticate.ts";
import { createHashQueue } from "../users/hash-queue.ts";
import type { VerifyToken } from "../users/bearer-token.ts";
import type { OidcConfig, SignInConfig } from "../users/openid.ts";
import { hashPassword } from "../users/password.ts";
import { createLoginThrottle, type LoginThrottle } from "../users/login-throttle.ts";

/** Where the service finds its neighbours: the settings, or the embedded stack that stands in for them. */
export interface Addresses {
  readonly mongodbUri: string;
  readonly kafkaBrokers: readonly string[];
}

export interface ServiceOptions {
  readonly config: Config;
  readonly addresses: Addresses;
  readonly log: Logger;
  /** Everything that is acquired is released through it. */
  readonly lifecycle: Lifecycle;
  /** Undefined: nothing is traced. */
  readonly tracing?: Tracing | undefined;
  /** Aborted when the service is to stop, also while it still starts. */
  readonly abort: AbortSignal;
  /** Called when the service cannot go on and its process has to end. */
  readonly died: (error: unknown) => void;
}

/** The running service. */
export interface Service {
  /** Where the HTTP facade listens: `http://host:port`. */
  readonly url: string;
  /** Resolves when database, broker and consumer are in place. Throws DatabaseConflictError; UnavailableError once aborted. */
  readonly ready: Promise<void>;
  /** Reads the certificate again, and opens the audit's file again; undefined where there is neither. */
  readonly reload: (() => void) | undefined;
}

/**
 * Starts the service. HTTP listens first, so that probes are answered from the beginning; database and broker are
 * waited for, however long it takes. Throws when the HTTP address cannot be had.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, addresses, log, lifecycle, tracing, abort } = options;
  const audit = openAuditLog(config.auditLog, log);
  lifecycle.onStop("audit", () => audit.close());
  const database = createDatabase(addresses.mongodbUri, log);
  lifecycle.onStop("MongoDB", () => database.close());
  const broker = createBroker({ ...config.kafka, brokers: addresses.kafkaBrokers }, log);
  lifecycle.onStop("Kafka", () => broker.close());

  const topicStore = createTopicStore(database, log);
  const topicIndex = createLiveTopicIndex(createTopicFeed(database, log), log);
  lifecycle.onStop("picker", () => topicIndex.close());
  const topics = createTopicService(topicStore, {
    changed(writes) {
      topicIndex.changed(writes);
      auditAnnouncements(audit, writes);
    },
  });
  const topicSwitch = createTopicSwitch({
    store: topicStore,
    retired: createRetiredTopicStore(database),
    changed: topicIndex.changed,
  });
  const users = createUserStore(database, newId);
  const sessionStore = createSessionStore(database);
  const catalogStore = createCatalogStore(database, newId);
  const catalog = createCatalog(catalogStore);
  const registrations = createGroupCommit(createInstallationStore(database, newId), {
    onWritten: (batch) => {
      metrics.registrationsWritten(batch);
    },
  });

  const installationReader = createInstallationReader(database);
  const deactivator = createInstallationDeactivator(database);

  const deadLetters = broker.producer(config.kafka.deadLetterTopic);
  lifecycle.onStop("dead letters", () => deadLetters.close());
  const announcements = { topic: config.kafka.announcementsTopic, groupId: config.kafka.groupId };
  const tally = createTally();
  const consumer = createGroupConsumer({
    member: broker.member(announcements),
    watch: broker.watch(announcements.topic),
    createHandler: (partition) =>
      createAnnouncementHandler(partition, {
        groupId: config.kafka.groupId,
        topics,
        store: topicStore,
        deadLetters,
        applied(batch) {
          tally.add(batch);
          metrics.applied(batch);
        },
        tracing,
        log,
      }),
    log,
    died: options.died,
  });
  lifecycle.onStop("consumer", () => consumer.stop());

  const feedbackTally = createFeedbackTally();
  const { pushFeedback: channel } = config.kafka;
  const pushFeedback =
    channel &&
    createPushFeedback(channel, {
      database,
      broker,
      catalog,
      log,
      lifecycle,
      applied(decision) {
        feedbackTally.add(decision);
        metrics.feedbackApplied(decision);
        auditFeedback(audit, decision, channel.topic);
      },
      tracing,
      died: options.died,
    });
  const consumers = { consumer, ...(pushFeedback && { pushFeedback: pushFeedback.consumer }) };
  const readiness = createReadiness(database, broker, consumers);
  const status = createStatus({
    announcements: {
      group: config.kafka.groupId,
      topic: config.kafka.announcementsTopic,
      observer: broker.observe(announcements),
      store: topicStore,
      consumer: () => consumer.status(),
    },
    pushFeedback: pushFeedback?.watched,
    tally,
    feedbackTally,
  });
  const metrics = createMetrics({
    status,
    readiness,
    picker: topicIndex.status,
    registrations: registrations.status,
  });

  const history = createHistory(status);
  lifecycle.onStop("history", () => {
    history.stop();
  });
  const throttle = loginThrottle(log);
  const hashQueue = createHashQueue();
  const deadLetterServices = createDeadLetterServices(config.kafka, { database, broker, abort });
  const app = createApp({
    topics,
    topicListing: createTopicListing(createTopicReader(database)),
    topicSwitch,
    topicIndex,
    installations: {
      service: createInstallationService(
        {
          submit: registrations.submit,
          deactivateAll: shareDeactivations(deactivator.deactivateAll),
        },
        catalog,
      ),
      listing: createInstallationListing(installationReader, catalogStore),
      deactivator,
    },
    users: createUserAdministration({
      users,
      sessions: sessionStore,
      // Logins go first.
      hash: (password) => hashQueue.run("last", () => hashPassword(password)),
    }),
    applications: createCatalogAdministration("application", catalogStore.applications),
    platforms: createCatalogAdministration("platform", catalogStore.platforms),
    verify: createAuthenticate({ users, throttle, hashQueue }),
    checkToken: config.oidc === undefined ? undefined : await tokenCheck(config.oidc),
    sessions: createSessions({
      store: sessionStore,
      users,
      issuer: config.signIn?.issuer,
    }),
    openId: config.signIn && (await openIdEntry(config.signIn, throttle, log)),
    consoleFiles: await readConsoleFiles(),
    audit,
    checkReadiness: readiness,
    metrics,
    syncStatus: status,
    overview: createOverview({
      readiness,
      status,
      history,
      deadLetters: deadLetterServices.announcements,
      installations: () => installationReader.countByScope({}),
    }),
    deadLetters: deadLetterServices,
    overTls: config.http.tls !== undefined,
    publicUrl: config.http.publicUrl,
    trustedProxies: config.http.trustedProxies,
    tracing,
    log,
    stopping: abort,
  });
  const http = await listen(app, { ...config.http, log });
  lifecycle.onStop("HTTP", () => http.close());
  log.info({ url: http.url }, "HTTP listens");

  async function becomeReady(): Promise<void> {
    await database.connect(abort);
    await retryUntilAvailable(() => bootstrap(config, { users, catalog: catalogStore, audit }), {
      what: "MongoDB",
      abort,
      log,
    });
    log.info("MongoDB answers; the indexes are in place");
    if (config.pickerLoad === "start") topicIndex.start();
    await broker.connect(abort);
    log.info("Kafka answers; the topics are in place");
    const starts = Object.values(consumers).map((one) =>
      retryUntilAvailable(() => one.start(), { what: "Kafka", abort, log }),
    );
    await Promise.all(starts);
  }

  const { tls } = config.http;
  function reload(): void {
    audit.reopen();
    if (tls === undefined) return;
    const pair = readTlsPair(tls.files);
    if ("cert" in pair) {
      http.renewTls(pair);
      log.info("the certificate was read again");
    } else log.error({ faults: pair.faults }, "the certificate cannot be read again; the old one stays");
  }
  return {
    url: http.url,
    ready: becomeReady(),
    reload: tls !== undefined || audit.inFile ? reload : undefined,
  };
}

const loginThrottle = (log: Logger) =>
  createLoginThrottle({
    onLimit(limit, { name, address }) {
      log.warn({ limit, user: name.slice(0, 100), address }, "too many failed logins; more are refused");
    },
  });

/** Its library is loaded only where it is used, as is that of the entry below. */
async function tokenCheck(config: OidcConfig): Promise<VerifyToken> {
  const { createVerifyToken: createCheckToken } = await import("../users/bearer-token.ts");
  return createCheckToken(config);
}

async function openIdEntry(
  config: SignInConfig,
  throttle: LoginThrottle,
  log: Logger,
): Promise<OpenIdOptions> {
  const { createOpenIdProvider } = await import("../users/openid-provider.ts");
  const { publicUrl } = config;
  const provider = createOpenIdProvider(config, buildRedirectUri(publicUrl));
  return { signIn: createOpenIdSignIn({ config, provider, throttle, log }), publicUrl };
}
