import { isIPv6 } from "node:net";

import type { KafkaConfig } from "@topicsync/kafka";
import type { Logger } from "@topicsync/lib/logger";
import { isTrustworthy } from "@topicsync/lib/trustworthy-url";
import type { Config } from "../config/config.ts";
import type { NamedStore } from "../installations/catalog.ts";
import { sendsUnprotectedCredentials } from "../storage/database/client-options.ts";

/** Warns about settings with which passwords and push tokens can be read on the network. */
export function warnAboutPlaintext({ http, kafka, mongodbUri }: Config, log: Logger): void {
  if (
    kafka.tls === undefined &&
    (kafka.sasl?.mechanism === "plain" || kafka.sasl?.mechanism === "oauthbearer")
  )
    log.warn("kafka password or token sent without TLS, set KAFKA_TLS or use SCRAM");
  if (mongodbUri !== undefined && sendsUnprotectedCredentials(mongodbUri))
    log.warn("mongodb credentials used without verified TLS, set tls=true in MONGODB_URI");
  const isLocal = isTrustworthy(`http://${isIPv6(http.host) ? `[${http.host}]` : http.host}`);
  const isBehindTls = http.publicUrl?.startsWith("https:") === true;
  if (http.tls === undefined && !isBehindTls && !isLocal)
    log.warn(
      { host: http.host },
      "http served without TLS beyond this machine, set HTTP_TLS_CERT or HTTP_PUBLIC_URL",
    );
}

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

/** Warns about push platforms that accept any text as a token. Throws UnavailableError. */
export async function warnAboutTokenRules(platforms: Pick<NamedStore, "list">, log: Logger): Promise<void> {
  const unruled = (await platforms.list()).filter(
    ({ active, tokenRule }) => active && tokenRule === undefined,
  );
  if (unruled.length === 0) return;
  log.warn(
    { platforms: unruled.map(({ name }) => name) },
    "push platforms without a token rule accept any token, set one with topicsync platforms rule",
  );
}
