import { getErrorMessage } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { oncePerMinute } from "@topicsync/lib/concurrency/once-per-minute";
import { now } from "@topicsync/lib/platform";
import { followSecret, type Secret } from "@topicsync/lib/secret";
import { createSingleFlight } from "@topicsync/lib/concurrency/single-flight";
import { mskSigner, type ClientCredentials, type KafkaSaslConfig } from "./interface/config.ts";
import { LoginError } from "./errors.ts";

/** A bearer token. */
interface Token {
  readonly value: string;
  readonly fetchedAt: number;
  /** In milliseconds since 1970, as `fetchedAt`. */
  readonly expiresAt: number;
}

/** Returns a token that is valid for the next connection. Throws a LoginError. */
export type GetToken = () => Promise<string>;

/** The token is renewed when this part of its lifetime is left, or less than `renewBeforeMs`. */
const renewAtShare = 0.2;
/** Kafka ends a session with its token, and kafkajs authenticates again ten seconds before. */
const renewBeforeMs = 30_000;
/** Connections that are opened together share a token that is always about to expire. */
const sharedForMs = 1_000;
/** Of a token that does not say when it expires. */
const assumedLifetimeMs = 60_000;
const timeoutSeconds = 5;
const maxReasonLength = 200;

type TokenConfig = Exclude<KafkaSaslConfig, { readonly username: string }>;

export function createGetToken(config: TokenConfig, log: Logger): GetToken {
  if (config.mechanism === "aws-msk-iam") return shareToken(() => signForMsk(config.region), log);
  if ("tokenFile" in config.source) return readTokens(config.source.tokenFile, log);
  const { source } = config;
  const getSecret = followSecret(source.clientSecret, log);
  return shareToken(() => requestToken(source, getSecret()), log);
}

/** All connections share a token, which is replaced before it expires. */
function shareToken(fetchToken: () => Promise<Token>, log: Logger): GetToken {
  const inFlight = createSingleFlight<Token>();
  const reportFailure = oncePerMinute((_, reason: string) => {
    log.warn({ reason }, "kafka token not renewed, using the current one until it expires");
  });
  let current: Token | undefined;

  function isFresh({ fetchedAt, expiresAt }: Token): boolean {
    const leftMs = expiresAt - now();
    const renewMs = Math.max(renewBeforeMs, (expiresAt - fetchedAt) * renewAtShare);
    return leftMs > renewMs || (leftMs > 0 && now() - fetchedAt < sharedForMs);
  }

  async function renew(): Promise<Token> {
    try {
      return await fetchToken();
    } catch (error) {
      const reason = getErrorMessage(error);
      if (current === undefined || current.expiresAt <= now()) throw new LoginError(reason);
      reportFailure(reason);
      return current;
    }
  }

  return async () => {
    if (current === undefined || !isFresh(current)) current = await inFlight("token", renew);
    return current.value;
  };
}

/** The file is read for each connection. Its token may be opaque, so that its expiry is unknown. */
function readTokens(tokenFile: Secret, log: Logger): GetToken {
  const getToken = followSecret(tokenFile, log);
  return async () => {
    const token = getToken().trim();
    const expiresAt = await findExpiry(token);
    if (expiresAt === undefined || expiresAt > now()) return token;
    const since = new Date(expiresAt).toISOString();
    throw new LoginError(`the token in ${tokenFile.setting} expired at ${since}: have the file renewed`);
  };
}

/** Requests a token with client credentials (RFC 6749, section 4.4). */
async function requestToken(
  { tokenUrl, clientId, scope }: ClientCredentials,
  clientSecret: string,
): Promise<Token> {
  // Slow to load.
  const client = await import("openid-client");
  const server = { issuer: tokenUrl, token_endpoint: tokenUrl };
  const provider = new client.Configuration(
    server,
    clientId,
    undefined,
    client.ClientSecretBasic(clientSecret),
  );
  provider.timeout = timeoutSeconds;
  // The settings allow plain HTTP on the loopback interface only.
  // oxlint-disable-next-line typescript/no-deprecated -- marked deprecated only as a warning
  if (tokenUrl.startsWith("http:")) client.allowInsecureRequests(provider);
  const fetchedAt = now();
  try {
    const tokens = await client.clientCredentialsGrant(provider, scope === undefined ? {} : { scope });
    const lifetimeMs = (tokens.expiresIn() ?? 0) * 1_000;
    const expiresAt = lifetimeMs > 0 ? fetchedAt + lifetimeMs : await findExpiry(tokens.access_token);
    return {
      value: tokens.access_token,
      fetchedAt,
      expiresAt: expiresAt ?? fetchedAt + assumedLifetimeMs,
    };
  } catch (error) {
    const isRejected = error instanceof client.ResponseBodyError;
    const { cause = error } = error as Error;
    const reason = isRejected ? `${error.error} ${error.error_description ?? ""}` : getErrorMessage(cause);
    // A provider may repeat what it was sent.
    const text = reason.replaceAll(clientSecret, "[redacted]").slice(0, maxReasonLength).trim();
    const cure = isRejected ? ": check KAFKA_OAUTH_CLIENT_ID, its secret and KAFKA_OAUTH_SCOPE" : "";
    throw new Error(`KAFKA_OAUTH_TOKEN_URL gives no token (${text})${cure}`, { cause: error });
  }
}

/** The `exp` of a JWT, in milliseconds; undefined for other tokens. */
async function findExpiry(token: string): Promise<number | undefined> {
  const { decodeJwt } = await import("jose");
  try {
    const { exp } = decodeJwt(token);
    return exp === undefined ? undefined : exp * 1_000;
  } catch {
    return undefined;
  }
}

interface MskSigner {
  generateAuthToken(options: { readonly region: string }): Promise<{
    readonly token: string;
    readonly expiryTime: number;
  }>;
}

/** Signs a token with the AWS credentials of the environment, which the AWS SDK finds and renews. */
async function signForMsk(region: string): Promise<Token> {
  const signer = (await import(mskSigner)) as MskSigner;
  const fetchedAt = now();
  try {
    const { token, expiryTime } = await signer.generateAuthToken({ region });
    return { value: token, fetchedAt, expiresAt: expiryTime };
  } catch (error) {
    throw new Error(`no token for AWS: ${getErrorMessage(error)}; give this process AWS credentials`, {
      cause: error,
    });
  }
}
