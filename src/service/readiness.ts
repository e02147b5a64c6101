import { cached } from "@topicsync/lib/concurrency/cached";
import { getErrorMessage } from "@topicsync/lib/errors";
import type { Broker } from "@topicsync/kafka/client";
import { withTimeout } from "@topicsync/lib/concurrency/timeout";
import type { GroupConsumer } from "../../consumers/group-consumer.ts";
import type { CheckResult, CheckReadiness } from "../operations/framework/services.ts";
import type { ConsumerStatus } from "../../consumers/partition-status.ts";
import type { Database } from "../storage/database/database.ts";

/** MongoDB and Kafka are pinged at most once a second, since /readyz requires no credentials. */
const pingIntervalMs = 1_000;

/** Creates the readiness check of MongoDB, Kafka, and the consumers by name. */
export function createReadiness(
  database: Pick<Database, "ping">,
  broker: Pick<Broker, "ping">,
  consumers: Readonly<Record<string, GroupConsumer>>,
  router: GroupConsumer | undefined,
): CheckReadiness {
  const mongodb = createPingCheck(() => database.ping());
  const kafka = createPingCheck(() => broker.ping());
  let hasRouted = false;

  /**
   * Not ready before it reads for the first time. Later, a pause, as while topics are loaded again, must not
   * keep HTTP requests away from the process.
   */
  function checkRouter(status: ConsumerStatus): CheckResult {
    const failure = checkMember(status) ?? (hasRouted ? undefined : checkPaused(status, "router"));
    hasRouted ||= failure === undefined;
    return failure ?? { ok: true };
  }

  return async () => {
    const [mongodbCheck, kafkaCheck] = await Promise.all([mongodb(), kafka()]);
    const consumerChecks = Object.entries(consumers).map(
      ([name, consumer]) => [name, checkConsumer(consumer)] as const,
    );
    return {
      mongodb: mongodbCheck,
      kafka: kafkaCheck,
      ...Object.fromEntries(consumerChecks),
      ...(router && { router: checkRouter(router.status()) }),
    };
  };
}

/** Below the usual timeout of a probe. */
const pingTimeoutMs = 2_000;

/** Pings at most once a second. */
function createPingCheck(ping: () => Promise<void>): () => Promise<CheckResult> {
  /** Why the last ping failed that has ended: one to a server that refuses connections takes longer. */
  let cause: string | undefined;

  async function check(): Promise<CheckResult> {
    const pinged = ping();
    pinged.then(
      () => {
        cause = undefined;
      },
      (error: unknown) => {
        cause = getErrorMessage(error);
      },
    );
    try {
      await withTimeout(pingTimeoutMs, pinged);
      return { ok: true };
    } catch (error) {
      const reason = getErrorMessage(error);
      return { ok: false, reason: cause === undefined || cause === reason ? reason : `${reason}: ${cause}` };
    }
  }

  return cached(check, { ttlMs: pingIntervalMs });
}

function checkConsumer(consumer: GroupConsumer): CheckResult {
  const status = consumer.status();
  return checkMember(status) ?? checkPaused(status, "sync") ?? { ok: true };
}

function checkMember({ state }: ConsumerStatus): CheckResult | undefined {
  if (state === "joining") return { ok: false, reason: "the consumer has not joined its group yet" };
  if (state === "dead") return { ok: false, reason: "the consumer died; the process ends" };
  return undefined;
}

function checkPaused({ partitions }: ConsumerStatus, what: string): CheckResult | undefined {
  const paused = partitions.filter((partition) => partition.state === "paused");
  if (paused.length === 0) return undefined;
  const reasons = paused.map(
    ({ topic, partition, reason = "paused", cause }) =>
      `${topic}-${partition}: ${cause === "error" ? "unexpected error: " : ""}${reason}`,
  );
  return { ok: false, reason: `the ${what} is paused: ${reasons.join("; ")}` };
}
