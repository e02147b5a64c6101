import { isIPv6 } from "node:net";

import type { Logger } from "@topicsync/lib/logger";
import { isTrustworthy } from "@topicsync/lib/trustworthy-url";
import type { Config } from "../config/config.ts";
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
