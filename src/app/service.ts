import { createApp } from "../../http/app.ts";
import { listen, type HttpServer } from "../../http/framework/server.ts";
import { readConsoleFiles } from "../../http/routes/console.ts";
import type { Config } from "../config.ts";
import { createBroker } from "../kafka/client.ts";
import { openAuditLog } from "../lib/audit-log.ts";
import type { Lifecycle } from "../lib/lifecycle.ts";
import type { Logger } from "../lib/logger.ts";
import { retryUntilAvailable } from "../lib/retry.ts";
import { readTlsPair, type TlsFiles } from "../lib/tls.ts";
import { createDatabase } from "../storage/database.ts";
import { createReplayKey } from "../storage/replay-key.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { bootstrap } from "./bootstrap.ts";
import { createDeadLetterServices } from "./dead-letters.ts";
import { createNaming } from "./egress-naming.ts";
import { createInstallations } from "./installations.ts";
import { createMetrics, createMetricsText } from "./metrics.ts";
import { createOverview } from "./overview.ts";
import { warnAboutPlaintext } from "./plaintext.ts";
import { createReadiness } from "./readiness.ts";
import { createRouter } from "./router.ts";
import { createSync } from "./sync.ts";
import { createTopics } from "./topics.ts";
import { createUsers } from "./users.ts";

/** The addresses of MongoDB and Kafka: configured, or those of the embedded servers. */
export interface Addresses {
  readonly mongodbUri: string;
  readonly kafkaBrokers: readonly string[];
}

export interface ServiceOptions {
  readonly config: Config;
  readonly addresses: Addresses;
  readonly log: Logger;
  /** Releases everything that the service acquires. */
  readonly lifecycle: Lifecycle;
  /** Undefined: nothing is traced. */
  readonly tracing?: Tracing | undefined;
  /** Aborted when the service is to stop, also while it still starts. */
  readonly abort: AbortSignal;
  /** Called when the service cannot continue and the process must exit. */
  readonly onDied: (error: unknown) => void;
}

/** The running service. */
export interface Service {
  /** The address of the HTTP server: `http://host:port`. */
  readonly url: string;
  /** Resolves when database, broker and consumers are ready. Throws DatabaseConflictError; UnavailableError once aborted. */
  readonly ready: Promise<void>;
  /** Reloads the certificate and reopens the audit file; undefined when neither is configured. */
  readonly reload: (() => void) | undefined;
}

/**
 * Starts the service. The HTTP server listens first, so that probes get responses from the start; then the service waits for
 * database and broker without a limit. Throws when the HTTP address cannot be bound.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, addresses, log, lifecycle, tracing, abort, onDied } = options;
  const metrics = createMetrics();
  const audit = openAuditLog(config.auditLog, log);
  lifecycle.onStop("audit", () => audit.close());
  const database = createDatabase(addresses.mongodbUri, log.child({ component: "mongodb" }));
  lifecycle.onStop("MongoDB", () => database.close());
  const kafkaConfig = { ...config.kafka, brokers: addresses.kafkaBrokers };
  const broker = createBroker(kafkaConfig, log.child({ component: "kafka" }));
  lifecycle.onStop("Kafka", () => broker.close());

  warnAboutPlaintext(config, log);
  const { topicStore, ...topics } = createTopics({
    database,
    audit,
    lifecycle,
    keepsNamespaces: config.kafka.router?.egressTopic.includes("{namespace}") === true,
    log,
  });
  const { catalogStore, catalog, reader, getRegistrations, ...installations } = createInstallations(
    database,
    metrics,
  );
  const { userStore, ...users } = await createUsers(config, database, log.child({ component: "users" }));
  const router =
    config.kafka.router &&
    createRouter(config.kafka, config.kafka.router, {
      audit,
      database,
      topicIndex: topics.topicIndex,
      broker,
      getProofKey: createReplayKey(database),
      metrics,
      lifecycle,
      tracing,
      log,
      onDied,
    });
  const { consumers, getSyncStatus } = createSync(config.kafka, {
    topics: topics.topics,
    topicStore,
    database,
    broker,
    router,
    catalog,
    audit,
    metrics,
    lifecycle,
    tracing,
    log,
    onDied,
  });
  const readiness = createReadiness(database, broker, consumers, router?.consumer);
  const deadLetters = createDeadLetterServices(config.kafka, { database, broker, abort });
  const getOverview = createOverview({
    readiness,
    getSyncStatus,
    deadLetters: deadLetters.announcements,
    countInstallations: () => reader.countByScope({}),
    lifecycle,
  });

  const httpLog = log.child({ component: "http" });
  const app = createApp({
    ...topics,
    egressNaming: config.kafka.router && createNaming(config.kafka, config.kafka.router),
    ...installations,
    ...users,
    deadLetters,
    consoleFiles: await readConsoleFiles(),
    audit,
    checkReadiness: readiness,
    metrics: createMetricsText(metrics, {
      getSyncStatus,
      readiness,
      picker: topics.topicIndex.status,
      getRegistrations,
    }),
    getSyncStatus,
    getOverview,
    overTls: config.http.tls !== undefined,
    publicUrl: config.http.publicUrl,
    trustedProxies: config.http.trustedProxies,
    tracing,
    log: httpLog,
    stopping: abort,
  });
  const server = await listen(app, { ...config.http, log: httpLog });
  lifecycle.onStop("HTTP", () => server.close());
  httpLog.info({ url: server.url }, "http server listening");

  async function becomeReady(): Promise<void> {
    await database.connect(abort);
    await retryUntilAvailable(
      () => bootstrap(config, { users: userStore, catalog: catalogStore, audit, log }),
      {
        what: "MongoDB",
        abort,
        log,
      },
    );
    log.info("mongodb connected, indexes in place");
    if (config.pickerLoad === "start") topics.topicIndex.start();
    await broker.connect(abort);
    log.info("kafka connected, topics in place");
    await Promise.all(
      [...Object.values(consumers), ...(router === undefined ? [] : [router.consumer])].map((consumer) =>
        retryUntilAvailable(() => consumer.start(), { what: "Kafka", abort, log }),
      ),
    );
  }

  const { tls } = config.http;
  function reload(): void {
    audit.reopen();
    if (tls !== undefined) reloadCertificate(server, tls.files, httpLog);
  }

  return {
    url: server.url,
    ready: becomeReady(),
    reload: tls !== undefined || audit.inFile ? reload : undefined,
  };
}

function reloadCertificate(server: HttpServer, files: TlsFiles, log: Logger): void {
  const pair = readTlsPair(files);
  if ("cert" in pair) {
    server.renewTls(pair);
    log.info("certificate reloaded");
  } else log.error({ faults: pair.faults }, "certificate reload failed, keeping the old one");
}
