import type { KafkaConfig } from "@topicsync/kafka";
import type { Logger } from "@topicsync/lib/logger";

interface LimitedRights {
  /** Whether a user or key has a right that is limited to a namespace. Throws UnavailableError. */
  readonly hasLimitedRights: () => Promise<boolean>;
  readonly log: Logger;
}

/** Warns if rights are limited to namespaces, but Kafka topics are not. Throws UnavailableError. */
export async function warnAboutSharedEgress(
  { router }: Pick<KafkaConfig, "router">,
  { hasLimitedRights, log }: LimitedRights,
): Promise<void> {
  if (router === undefined || router.egressTopic.includes("{namespace}") || !(await hasLimitedRights()))
    return;
  log.warn(
    { egressTopic: router.egressTopic },
    "rights are limited to namespaces, but KAFKA_EGRESS_TOPIC has no {namespace}",
  );
}
