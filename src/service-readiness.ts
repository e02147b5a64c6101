import type { LogConsumer } from "../consumers/log-consumer.ts";
import type { Check, CheckReadiness } from "../http/health.ts";
import { messageOf } from "./errors.ts";
import type { Broker } from "./kafka/client.ts";
import { within } from "./patience.ts";
import type { Database } from "./storage/database.ts";

/** Makes the look at everything that the service needs to do its work: MongoDB, Kafka, and its consumers by name. */
export const createReadiness =
  (
    database: Pick<Database, "ping">,
    broker: Pick<Broker, "ping">,
    consumers: Readonly<Record<string, LogConsumer>>,
  ): CheckReadiness =>
  async () => {
    const [mongodb, kafka] = await Promise.all([check(() => database.ping()), check(() => broker.ping())]);
    const reading = Object.entries(consumers).map(
      ([name, consumer]) => [name, consumerCheck(consumer)] as const,
    );
    return { mongodb, kafka, ...Object.fromEntries(reading) };
  };

/** A probe waits for its answer no longer than this: whoever asks has little patience. */
const probeMs = 2_000;

async function check(ask: () => Promise<void>): Promise<Check> {
  try {
    await within(probeMs, ask());
    return { ok: true };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

function consumerCheck(consumer: LogConsumer): Check {
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
