/**
 * Faults of kafkajs 2.2.4, broker/saslAuthenticator/index.js: after a failed authentication it authenticates
 * again on the same connection, which the broker takes for an illegal state. It authenticates again ten
 * seconds before a session ends (network/connection.js:62): in shorter sessions, before every request,
 * without an error.
 * The tests in test/integration/sync/kafka-security.long.test.ts fail when kafkajs no longer needs this.
 */

import type { Socket } from "node:net";

import kafkajs from "kafkajs";

import { getErrorMessage } from "@topicsync/lib/errors";
import { hasType, LoginError } from "../errors.ts";
import { patchMethod } from "./patch.ts";

interface Authenticator {
  readonly connection: { readonly socket?: Socket; readonly sasl: { readonly mechanism: string } };
  /** In milliseconds; "0" if it is not limited. */
  readonly sessionLifetime: string;
  authenticate(): Promise<void>;
}

/** Kafka allows one authentication a second, and kafkajs authenticates ten seconds before the end. */
const minSessionMs = 12_000;

/** Makes kafkajs leave connections that it could not authenticate, in the whole process. */
export function reportAuthentication(): void {
  patchMethod<Authenticator, "authenticate">(
    "broker/saslAuthenticator/index.js",
    "authenticate",
    async (authenticator, authenticate) => {
      try {
        await authenticate();
        requireLongSession(Number(authenticator.sessionLifetime));
      } catch (error) {
        authenticator.connection.socket?.destroy(new Error("authentication failed"));
        throw toAuthenticationError(error, authenticator.connection.sasl.mechanism);
      }
    },
  );
}

function requireLongSession(lifetimeMs: number): void {
  if (lifetimeMs === 0 || lifetimeMs >= minSessionMs) return;
  throw new LoginError(
    `Kafka ends sessions after ${lifetimeMs} ms, topicsync needs ${minSessionMs} ms: ` +
      "raise connections.max.reauth.ms of the broker, or the lifetime of tokens",
  );
}

/** A connection that was lost, or that the broker takes for broken, is replaced at once by kafkajs. */
function toAuthenticationError(error: unknown, mechanism: string): unknown {
  if (error instanceof kafkajs.KafkaJSConnectionError) return error;
  const message = getErrorMessage(error);
  if (hasType(error, "ILLEGAL_SASL_STATE")) return new kafkajs.KafkaJSConnectionError(message);
  const isUnknown =
    hasType(error, "UNSUPPORTED_SASL_MECHANISM") || /not supported by the server/.test(message);
  const hasPassword = /^(?:plain|scram)/.test(mechanism);
  const cure = isUnknown
    ? ": check KAFKA_SASL_MECHANISM, and the listener of KAFKA_BROKERS"
    : hasPassword
      ? ": check KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD"
      : hasType(error, "SASL_AUTHENTICATION_FAILED")
        ? ": check the issuer, audience, scope and lifetime of the token"
        : "";
  return new LoginError(`${message}${cure}`);
}
