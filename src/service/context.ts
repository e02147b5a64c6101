import type { Broker } from "@topicsync/kafka/client";
import type { AuditLog } from "@topicsync/lib/audit/log";
import type { Lifecycle } from "@topicsync/lib/lifecycle";
import type { Logger } from "@topicsync/lib/logger";
import type { Tracing } from "@topicsync/lib/tracing";
import type { Config } from "../config/config.ts";
import type { Database } from "../storage/database/database.ts";
import type { TopicWrites } from "../topics/snapshot.ts";
import type { Metrics } from "./metrics.ts";
import type { Services } from "./services.ts";

/** What the parts of the service are created with. */
export interface Context {
  readonly config: Config;
  readonly log: Logger;
  /** Releases everything that the service acquires. */
  readonly lifecycle: Lifecycle;
  /** Undefined: nothing is traced. */
  readonly tracing: Tracing | undefined;
  /** Aborted when the service is to stop, also while it still starts. */
  readonly abort: AbortSignal;
  /** Called when the service cannot continue and the process must exit. */
  readonly onDied: (error: unknown) => void;
  readonly audit: AuditLog;
  readonly metrics: Metrics;
  readonly database: Database;
  readonly broker: Broker;
  readonly services: Services;
  /** To be called with what was written about topics. */
  /** Never rejects. */
  readonly onTopicsChanged: (writes: Partial<TopicWrites>) => Promise<void>;
}
