import type { GroupConsumer } from "../../consumers/group-consumer.ts";
import type { CheckResult, CheckReadiness } from "../../http/routes/health.ts";
import { cached } from "../lib/cached.ts";
import { getErrorMessage } from "../lib/errors.ts";
import type { Broker } from "../kafka/client.ts";
import { withTimeout } from "../lib/timeout.ts";
import type { Database } from "../storage/database.ts";

/** MongoDB and Kafka are asked once a second at most: anybody may ask for readiness. */
const pingEveryMs = 1_000;

/** Makes the look at everything that the service needs to do its work: MongoDB, Kafka, and its consumers by name. */
export function createReadiness(
  database: Pick<Database, "ping">,
  broker: Pick<Broker, "ping">,
  consumers: Readonly<Record<string, GroupConsumer>>,
): CheckReadiness {
  const mongodb = cached(() => check(() => database.ping()), { ttlMs: pingEveryMs });
  const kafka = cached(() => check(() => broker.ping()), { ttlMs: pingEveryMs });
  return async () => {
    const [mongodbCheck, kafkaCheck] = await Promise.all([mongodb(), kafka()]);
    const reading = Object.entries(consumers).map(
      ([name, consumer]) => [name, consumerCheck(consumer)] as const,
    );
    return { mongodb: mongodbCheck, kafka: kafkaCheck, ...Object.fromEntries(reading) };
  };
}

/** A probe waits for its answer no longer than this: whoever asks has little patience. */
const probeMs = 2_000;

async function check(ask: () => Promise<void>): Promise<CheckResult> {
  try {
    await withTimeout(probeMs, ask());
    return { ok: true };
  } catch (error) {
    return { ok: false, reason: getErrorMessage(error) };
  }
}

function consumerCheck(consumer: GroupConsumer): CheckResult {
  const { state, partitions } = consumer.status();
  if (state === "joining") return { ok: false, reason: "the consumer has not joined its group yet" };
  if (state === "dead") return { ok: false, reason: "the consumer died; the process ends" };
  const paused = partitions.filter((partition) => partition.state === "paused");
  if (paused.length === 0) return { ok: true };
  const reasons = paused.map(
    ({ topic, partition, reason = "paused", cause }) =>
      `${topic}-${partition}: ${cause === "error" ? "unexpected error: " : ""}${reason}`,
  );
  return { ok: false, reason: `the sync is paused: ${reasons.join("; ")}` };
}
