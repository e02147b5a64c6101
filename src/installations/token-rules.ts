import { RefusalError } from "../lib/errors.ts";
import type { PushPlatform } from "./catalog.ts";

/** What a platform's record may say of its tokens; without a rule any text of at most 4,096 characters is a token. */
export const tokenRules = ["apns", "fcm", "webpush"] as const;

export type TokenRule = (typeof tokenRules)[number];

/** A token in the form in which it is stored and looked for, or what is wrong with it. */
export type CheckedToken = { readonly token: string } | { readonly fault: string };

/**
 * The token in the form in which it is stored.
 *
 * @param path - JSON pointer of the member that it stands in.
 * @throws Refusal `BAD_TOKEN` when it breaks the platform's rule.
 */
export function storedToken({ name, tokenRule }: PushPlatform, token: string, path: string): string {
  const found = checkToken(token, tokenRule);
  if ("token" in found) return found.token;
  const message = `The platform "${name}" does not take this token.`;
  throw new RefusalError("BAD_TOKEN", message, [{ path, message: found.fault }]);
}

/** Applies a platform's rule to a token, on every way in alike: what was registered is found again however it is written. */
export function checkToken(token: string, rule: string | undefined): CheckedToken {
  if (rule === undefined) return { token };
  // A rule that nobody knows must not let every token through.
  return isTokenRule(rule)
    ? checks[rule](token)
    : {
        fault: `cannot be checked: the platform's record carries the unknown rule "${rule}"; known are ${tokenRules.join(", ")}`,
      };
}

/** Whether this is the name of a rule. */
export const isTokenRule = (name: string): name is TokenRule => tokenRules.some((rule) => rule === name);

const checks: Readonly<Record<TokenRule, (token: string) => CheckedToken>> = { apns, fcm, webpush };

/** A device token of Apple's push service: up to 100 bytes in hexadecimal, whose letters come in both cases. */
function apns(token: string): CheckedToken {
  return /^(?:[0-9a-f]{2}){8,100}$/i.test(token)
    ? { token: token.toLowerCase() }
    : { fault: "must be a token of Apple's push service: 16 to 200 hexadecimal digits, two for each byte" };
}

/**
 * A Firebase installation ID (FID), or a registration token of Firebase Cloud Messaging. A FID is 17 random bytes that begin
 * with the bits 0111, in base64url, cut to 22 characters: Firebase's own clients check for the same. Of registration tokens
 * Google documents no format; they are letters of base64url with a colon, and without one only where GCM issued them.
 */
function fcm(token: string): CheckedToken {
  return firebaseForms.some((form) => form.test(token))
    ? { token }
    : {
        fault:
          "must be a Firebase installation ID (22 letters, digits, hyphens and underscores, the first of them c, d, e or f) or a registration token of Firebase Cloud Messaging",
      };
}

const firebaseForms = [
  /^[c-f][A-Za-z0-9_-]{21}$/,
  /^(?=.{20})[A-Za-z0-9_-]+:[A-Za-z0-9_:-]+$/,
  /^[A-Za-z0-9_-]{100,}$/,
];

/**
 * A push subscription (W3C Push API): its endpoint, a URL of the push service (RFC 8030, section 5), or what `toJSON` of
 * the subscription gives, with the keys that a message is encrypted with (RFC 8291). Kept without whitespace, in one
 * order of the members, and without the time at which it expires.
 */
function webpush(token: string): CheckedToken {
  const fault = {
    fault:
      "must be a push subscription: its endpoint, an https URL, or its JSON with endpoint and keys (p256dh and auth, in base64url)",
  };
  const subscription = token.trimStart().startsWith("{") ? jsonOf(token) : { endpoint: token };
  const endpoint = endpointOf(subscription?.endpoint);
  if (subscription === undefined || endpoint === undefined) return fault;
  if (subscription.keys === undefined) return { token: endpoint };
  const { p256dh, auth } = subscription.keys;
  // An uncompressed point of P-256 (65 bytes) and a secret of 16 bytes (RFC 8291, section 3.1 and 3.2).
  if (!isBase64Url(p256dh, 87) || !isBase64Url(auth, 22)) return fault;
  return { token: JSON.stringify({ endpoint, keys: { p256dh, auth } }) };
}

interface Subscription {
  readonly endpoint?: unknown;
  readonly keys?: { readonly p256dh?: unknown; readonly auth?: unknown };
}

function jsonOf(text: string): Subscription | undefined {
  try {
    const { endpoint, keys } = JSON.parse(text) as Record<string, unknown>;
    return { endpoint, keys: typeof keys === "object" && keys !== null ? keys : {} };
  } catch {
    return undefined;
  }
}

function endpointOf(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  const url = URL.parse(text);
  return url?.protocol === "https:" && url.username === "" && url.hash === "" ? url.href : undefined;
}

const isBase64Url = (text: unknown, characters: number): text is string =>
  typeof text === "string" && text.length === characters && /^[A-Za-z0-9_-]+$/.test(text);
