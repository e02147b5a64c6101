import { createBroker } from "@topicsync/kafka/client";
import { RefusalAudit } from "@topicsync/lib/audit/refusals";
import { openAuditLog } from "@topicsync/lib/audit/log";
import { lazily } from "@topicsync/lib/lazily";
import type { Logger } from "@topicsync/lib/logger";
import { retryUntilAvailable } from "@topicsync/lib/concurrency/retry";
import { readTlsPair, type TlsFiles } from "@topicsync/lib/tls";
import type { Tracing } from "@topicsync/lib/tracing";
import { createApp, createManagementApp, type AppOptions } from "../../http/app.ts";
import { listen, type HttpServer } from "../../http/framework/server.ts";
import type { CheckReadiness, OperationServices } from "../operations/framework/services.ts";
import { readConsoleFiles } from "../../http/routes/console.ts";
import { createDatabase } from "../storage/database/database.ts";
import { auditAnnouncements } from "../topics/audit.ts";
import type { TopicWrites } from "../topics/snapshot.ts";
import { createRequestBackfill } from "./backfills.ts";
import { bootstrap } from "./bootstrap.ts";
import { followCertificate, watchCertificates } from "./certificates.ts";
import type { Context } from "./context.ts";
import { createDeadLetters } from "./dead-letters.ts";
import { createEgressNamingFromConfig } from "./egress-naming.ts";
import { openEventLog } from "./event-log.ts";
import { createSampleReader } from "./event-sample.ts";
import { createImpactPreview } from "./impact/impact-preview.ts";
import { createMetricsText } from "./metrics-text.ts";
import { createMetrics } from "./metrics.ts";
import { createOverview } from "./overview.ts";
import { watchOutages } from "./outage-watch.ts";
import { warnAboutPlaintext, warnAboutSharedEgress, warnAboutTokenRules } from "./warnings.ts";
import { createReadiness } from "./readiness.ts";
import { BackfillRunner } from "./kafka/backfills.ts";
import { createEventRouter } from "./kafka/router.ts";
import { createServices, type Services } from "./services.ts";
import { createSignIn } from "./sign-in.ts";
import { startTokenExpiry } from "./token-expiry.ts";
import { createSync } from "./kafka/sync.ts";

/** The addresses of MongoDB and Kafka: configured, or those of the embedded servers. */
export interface Addresses {
  readonly mongodbUri: string;
  readonly kafkaBrokers: readonly string[];
}

export interface ServiceOptions extends Pick<Context, "config" | "log" | "lifecycle" | "abort" | "onDied"> {
  readonly addresses: Addresses;
  /** Undefined: nothing is traced. */
  readonly tracing?: Tracing | undefined;
}

export interface Service {
  /** The address of the HTTP server: `http://host:port`. */
  readonly url: string;
  /**
   * Resolves when database, broker and consumers are ready. Throws DatabaseConflictError; UnavailableError
   * once aborted.
   */
  readonly ready: Promise<void>;
  /** Reloads the certificate and reopens the audit file; undefined when neither is configured. */
  readonly reload: (() => void) | undefined;
}

/**
 * Starts the service. The HTTP server listens first, so that probes get responses from the start; then the
 * service waits for database and broker without a limit. Throws when the HTTP address cannot be bound.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, lifecycle } = options;
  const context = createContext(options);
  warnAboutPlaintext(config, context.log);
  const consumers = createConsumers(context);
  const log = context.log.child({ component: "http" });
  const appOptions = { ...(await createAppOptions(context, consumers, options.addresses)), log };
  const { recordRejectedRequest: onRejected } = context.metrics;
  const servers: HttpServer[] = [];
  // First, so that it is closed last and probes are answered to the end.
  if (config.management !== undefined) {
    const management = await listen(createManagementApp(appOptions), {
      ...config.http,
      ...config.management,
      ...{ log, onRejected },
    });
    lifecycle.onStop("management", () => management.close());
    log.info({ url: management.url }, "management server listening");
    servers.push(management);
  }
  const server = await listen(createApp(appOptions), { ...config.http, log, onRejected });
  lifecycle.onStop("HTTP", () => server.close());
  log.info({ url: server.url }, "http server listening");
  servers.push(server);

  const { tls } = config.http;
  if (tls !== undefined) followCertificate(servers, tls, { lifecycle, log });
  function reload(): void {
    context.audit.reopen();
    if (tls !== undefined) reloadCertificate(servers, tls.files, log);
  }

  return {
    url: server.url,
    ready: becomeReady(context, consumers, appOptions.services.checkReadiness),
    reload: tls !== undefined || context.audit.inFile ? reload : undefined,
  };
}

/** Connects nothing yet. */
function createContext({ addresses, tracing, ...options }: ServiceOptions): Context {
  const { config, log, lifecycle } = options;
  const metrics = createMetrics();
  const audit = openAuditLog(config.auditLog, log);
  lifecycle.onStop("audit", () => audit.close());
  const mongodbLog = log.child({ component: "mongodb" });
  const database = createDatabase(addresses.mongodbUri, mongodbLog, config.mongodbUriFile);
  lifecycle.onStop("MongoDB", () => database.close());
  const isEmbedded = config.kafka.brokers === undefined;
  const kafkaConfig = { ...config.kafka, brokers: addresses.kafkaBrokers, isEmbedded };
  const broker = createBroker(kafkaConfig, log.child({ component: "kafka" }));
  lifecycle.onStop("Kafka", () => broker.close());
  function onTopicsChanged(writes: Partial<TopicWrites>): Promise<void> {
    const applied = services.topicIndex.changed(writes);
    auditAnnouncements(audit, writes);
    return applied;
  }
  const services: Services = createServices({
    config,
    database,
    lifecycle,
    log,
    readSample: createSampleReader({ ...options, broker: () => Promise.resolve(broker) }),
    onTopicsChanged,
    onRegistrationsWritten: metrics.recordRegistrations,
  });
  return { ...options, tracing, metrics, audit, database, broker, services, onTopicsChanged };
}

type Consumers = ReturnType<typeof createConsumers>;

/** `egressNaming` and `router` are undefined when no events are forwarded. */
function createConsumers(context: Context) {
  const { config } = context;
  const egressNaming = createEgressNamingFromConfig(config.kafka);
  const router =
    config.kafka.router && egressNaming && createEventRouter(config.kafka.router, egressNaming, context);
  const backfills =
    config.kafka.router &&
    egressNaming &&
    router &&
    new BackfillRunner({ ...router, router: config.kafka.router, naming: egressNaming }, context);
  const sync = createSync(context, router);
  const deadLetters = createDeadLetters(config.kafka, {
    ...context,
    log: context.log.child({ component: "dead-letters" }),
  });
  return { ...sync, router, backfills, egressNaming, deadLetters };
}

async function createAppOptions(
  context: Context,
  { consumers, router, backfills, egressNaming, getSyncStatus, deadLetters }: Consumers,
  { kafkaBrokers }: Addresses,
): Promise<Omit<AppOptions, "log">> {
  const { config, services, database, broker, audit, metrics, lifecycle, abort, tracing, log } = context;
  const refusals = new RefusalAudit(audit);
  lifecycle.onStop("audit of refusals", () => {
    refusals.flush();
  });
  const checkReadiness = createReadiness(database, broker, consumers, router?.consumer);
  const signIn = await createSignIn(config, services, log.child({ component: "users" }));
  const operationServices = lazily<OperationServices, Services>(
    {
      egressNaming: () => egressNaming,
      eventLog: () =>
        openEventLog(config.kafka, { ...services, connect: () => Promise.resolve(broker), abort }),
      requestBackfill: () =>
        createRequestBackfill(config.kafka, {
          store: services.backfillStore,
          broker: () => Promise.resolve(broker),
          onRequested: backfills?.wake,
        }),
      deadLetters: () => Promise.resolve(deadLetters.services),
      getSyncStatus: () => getSyncStatus,
      checkReadiness: () => checkReadiness,
      verifyAfresh: () => signIn.verifyAfresh,
      impact: () => createPreview(context, kafkaBrokers),
      metrics: ({ topicIndex }) =>
        createMetricsText(metrics, {
          getSyncStatus,
          readiness: checkReadiness,
          picker: topicIndex.status,
          getRegistrations: services.registrations.getStatus,
          getPoolUse: () => database.getPoolUse(),
          getCertificates: watchCertificates(config),
        }),
      getOverview: ({ installationReader }) =>
        createOverview({
          readiness: checkReadiness,
          getSyncStatus,
          deadLetters: deadLetters.services.announcements,
          countInstallations: () => installationReader.countByScope({}),
          lifecycle,
        }),
    },
    services,
  );
  return {
    services: operationServices,
    ...signIn,
    consoleFiles: await readConsoleFiles(),
    audit,
    recordRefusal: refusals.record,
    recordRequest: metrics.recordRequest,
    isManagedApart: config.management !== undefined,
    overTls: config.http.tls !== undefined,
    publicUrl: config.http.publicUrl,
    allowedOrigins: config.http.allowedOrigins,
    trustedProxies: config.http.trustedProxies,
    tracing,
    stopping: abort,
  };
}

/** Undefined when no events are forwarded. */
function createPreview({ config: { kafka }, services, abort }: Context, brokers: readonly string[]) {
  if (kafka.router === undefined) return undefined;
  const { findReplayKey } = services;
  return createImpactPreview({
    kafka: { ...kafka, brokers },
    topic: kafka.router.topic,
    findReplayKey,
    stopping: abort,
  });
}

/** Waits for database and broker, and starts the consumers. */
async function becomeReady(
  context: Context,
  { consumers, router, backfills, deadLetters }: Consumers,
  checkReadiness: CheckReadiness,
): Promise<void> {
  const { lifecycle, abort, log } = context;
  await Promise.all([connectDatabase(context), connectBroker(context)]);
  watchOutages(checkReadiness, context);
  lifecycle.onStop("readers of dead letters", deadLetters.start());
  backfills?.start();
  const all = [...Object.values(consumers), ...(router === undefined ? [] : [router.consumer])];
  await Promise.all(
    all.map((consumer) => retryUntilAvailable(() => consumer.start(), { what: "Kafka", abort, log })),
  );
}

async function connectDatabase(context: Context): Promise<void> {
  const { config, database, services, audit, abort, log } = context;
  await database.connect(abort);
  const stores = { users: services.userStore, catalog: services.catalogStore };
  const { hasLimitedRights } = services;
  await retryUntilAvailable(
    async () => {
      await bootstrap(config, { ...stores, audit, log });
      await warnAboutSharedEgress(config.kafka, { hasLimitedRights, log });
      await warnAboutTokenRules(services.catalogStore.platforms, log);
    },
    { what: "MongoDB", abort, log },
  );
  log.info("mongodb connected, indexes in place");
  startTokenExpiry(config.push, context);
  if (config.pickerLoad === "start") services.topicIndex.start();
}

async function connectBroker({ broker, abort, log }: Context): Promise<void> {
  await broker.connect(abort);
  log.info("kafka connected, topics in place");
}

function reloadCertificate(servers: readonly HttpServer[], files: TlsFiles, log: Logger): void {
  const pair = readTlsPair(files);
  if ("cert" in pair) {
    for (const server of servers) server.renewTls(pair);
    log.info("certificate reloaded");
  } else log.error({ faults: pair.faults }, "certificate reload failed, keeping the old one");
}
