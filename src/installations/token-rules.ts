import { RejectionError } from "@topicsync/lib/errors";
import type { CatalogRecord } from "./catalog.ts";

/**
 * The rules that a platform's record may name. Without a rule, any text of at most 4,096 characters is a
 * token.
 */
export const tokenRules = ["apns", "fcm", "webpush"] as const;

export type TokenRule = (typeof tokenRules)[number];

/** A token in its stored form, or what is wrong with it. */
type CheckedToken = { readonly token: string } | { readonly fault: string };

/**
 * Returns the stored form of a token; `path` is the JSON pointer of its member. Throws a RejectionError,
 * `BAD_TOKEN`, when the token violates the platform's rule.
 */
export function normalizeToken({ name, tokenRule }: CatalogRecord, token: string, path: string): string {
  const checked = checkToken(token, tokenRule);
  if ("token" in checked) return checked.token;
  const message = `The token is not valid for the platform "${name}".`;
  throw new RejectionError("BAD_TOKEN", message, [{ path, message: checked.fault }]);
}

/**
 * Applies a token rule. Every input uses it, so a registered token is found again in any accepted spelling.
 */
export function checkToken(token: string, rule: string | undefined): CheckedToken {
  if (rule === undefined) return { token };
  // An unknown rule must not accept every token.
  return isTokenRule(rule)
    ? checks[rule](token)
    : {
        fault: `cannot be checked: the platform has the unknown rule "${rule}"; known rules: ${tokenRules.join(", ")}`,
      };
}

const isTokenRule = (name: string): name is TokenRule => tokenRules.some((rule) => rule === name);

const checks: Readonly<Record<TokenRule, (token: string) => CheckedToken>> = { apns, fcm, webpush };

/** A device token of Apple's push service: up to 100 bytes in hexadecimal, in upper or lower case. */
function apns(token: string): CheckedToken {
  return /^(?:[0-9a-f]{2}){8,100}$/i.test(token)
    ? { token: token.toLowerCase() }
    : { fault: "must be an APNs device token: 16 to 200 hexadecimal digits, two per byte" };
}

/**
 * A Firebase installation ID (FID), or a registration token of Firebase Cloud Messaging. A FID is 17 random
 * bytes that begin with the bits 0111, in base64url, cut to 22 characters; Firebase's own clients check the
 * same. Google documents no format for registration tokens; they are base64url characters with a colon, or
 * without one if GCM issued them.
 */
function fcm(token: string): CheckedToken {
  return firebaseForms.some((form) => form.test(token))
    ? { token }
    : {
        fault:
          "must be a Firebase installation ID (22 letters, digits, hyphens and underscores, beginning with c, d, e or f) or an FCM registration token",
      };
}

const firebaseForms = [
  /^[c-f][A-Za-z0-9_-]{21}$/,
  /^(?=.{20})[A-Za-z0-9_-]+:[A-Za-z0-9_:-]+$/,
  /^[A-Za-z0-9_-]{100,}$/,
];

/**
 * A push subscription (W3C Push API): its endpoint, a URL of the push service (RFC 8030, section 5), or its
 * JSON as returned by `toJSON`, with the encryption keys (RFC 8291), or with these in padded or plain Base64,
 * as scripts write them. Stored in base64url, without whitespace, with members in a fixed order, and without
 * `expirationTime`.
 */
function webpush(token: string): CheckedToken {
  const fault = {
    fault:
      "must be a push subscription: its endpoint (an https URL), or its JSON with endpoint and keys (p256dh and auth, in Base64)",
  };
  const subscription = token.trimStart().startsWith("{") ? parseSubscription(token) : { endpoint: token };
  const endpoint = parseEndpoint(subscription?.endpoint);
  if (subscription === undefined || endpoint === undefined) return fault;
  if (subscription.keys === undefined) return { token: endpoint };
  // An uncompressed point of P-256 and a secret (RFC 8291, section 3.1 and 3.2).
  const p256dh = toBase64Url(subscription.keys.p256dh, 65);
  const auth = toBase64Url(subscription.keys.auth, 16);
  if (p256dh === undefined || auth === undefined) return fault;
  return { token: JSON.stringify({ endpoint, keys: { p256dh, auth } }) };
}

interface Subscription {
  readonly endpoint?: unknown;
  readonly keys?: { readonly p256dh?: unknown; readonly auth?: unknown };
}

function parseSubscription(text: string): Subscription | undefined {
  try {
    const { endpoint, keys } = JSON.parse(text) as Record<string, unknown>;
    return { endpoint, keys: typeof keys === "object" && keys !== null ? keys : {} };
  } catch {
    return undefined;
  }
}

function parseEndpoint(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  const url = URL.parse(text);
  return url?.protocol === "https:" && url.username === "" && url.hash === "" ? url.href : undefined;
}

/** Bytes in base64url without padding, given in any Base64; undefined if these are not so many bytes. */
function toBase64Url(text: unknown, count: number): string | undefined {
  if (typeof text !== "string" || !/^[A-Za-z0-9+/_-]{1,100}={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64url");
  return bytes.length === count ? bytes.toString("base64url") : undefined;
}
