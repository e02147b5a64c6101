import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { checkToken } from "../../../src/installations/token-rules.ts";

const hex = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0";
const key = `B${"a_-9".repeat(21)}AA`;
const auth = "0123456789abcdefABCDEF".slice(0, 22);
const endpoint = "https://push.example.org/send/abc";

const takes = (rule: string | undefined, given: string, kept = given) => {
  assert.deepEqual(checkToken(given, rule), { token: kept });
};
const refuses = (rule: string, ...tokens: string[]) => {
  for (const token of tokens) assert.ok("fault" in checkToken(token, rule), token);
};

describe("a platform's token rule", () => {
  it("takes any token as it is where there is none", () => {
    for (const token of ["x", " X ", "{}", "é"]) takes(undefined, token);
  });

  it("takes hexadecimal digits for apns, and keeps them in lower case", () => {
    takes("apns", hex);
    takes("apns", hex.toUpperCase(), hex);
    takes("apns", "ab".repeat(100));
    refuses(
      "apns",
      "",
      "abc",
      `${hex}0`,
      `${hex} `,
      ` ${hex}`,
      `<${hex}>`,
      `${hex}\n`,
      "ab".repeat(101),
      "g".repeat(64),
    );
  });

  it("takes a registration token for fcm, and keeps its case", () => {
    takes("fcm", "dQw4w9WgXcQ:APA91bH_-aZ09");
    takes("fcm", `eDJGCX9CTKiaUVsHkcB8fm:APA91b${"H_-aZ09".repeat(19)}`);
    takes("fcm", `APA91b${"H_-aZ09".repeat(19)}`);
    refuses(
      "fcm",
      "",
      "short",
      ":APA91bH_-aZ09aaaaaaaaaaaa",
      "dQw4w9WgXcQ:",
      "dQw4w9WgXcQ APA91bHaZ09aaaaa",
      "dQw4w9WgXcQ:APA91bHé_aaaaaaa",
      `${"a".repeat(120)}\n`,
    );
  });

  it("takes a Firebase installation ID for fcm", () => {
    for (const first of "cdef") takes("fcm", `${first}DJGCX9CTKiaUVsH-_B8fm`);
    refuses(
      "fcm",
      "gDJGCX9CTKiaUVsH-_B8fm",
      "CDJGCX9CTKiaUVsH-_B8fm",
      "eDJGCX9CTKiaUVsH-_B8f",
      "eDJGCX9CTKiaUVsH-_B8fma",
      "eDJGCX9CTKiaUVsH+/B8fm",
      "eDJGCX9CTKiaUVsH-_B8fm\n",
    );
  });

  it("refuses another service's token and other ids for fcm", () => {
    refuses("fcm", hex, "550e8400-e29b-41d4-a716-446655440000", "9f86d081884c7d659a2feaa0c55ad015");
  });

  it("takes a subscription's https endpoint for webpush, or its JSON with its keys, in one form", () => {
    takes("webpush", endpoint);
    takes("webpush", "HTTPS://Push.Example.ORG:443/send/abc", endpoint);
    const keys = { p256dh: key, auth };
    const kept = JSON.stringify({ endpoint, keys });
    takes("webpush", kept);
    takes(
      "webpush",
      JSON.stringify({ keys: { auth, p256dh: key }, expirationTime: null, endpoint }, undefined, 2),
      kept,
    );
  });

  it("refuses what is no subscription for webpush", () => {
    refuses(
      "webpush",
      "",
      "abc",
      "http://push.example.org/x",
      "https://user@push.example.org/",
      `${endpoint}#x`,
    );
    refuses(
      "webpush",
      "{",
      "{}",
      `{"endpoint":"${endpoint}"}`,
      `{"endpoint":"${endpoint}","keys":null}`,
      "[]",
      "null",
    );
    refuses("webpush", JSON.stringify({ endpoint, keys: { p256dh: key, auth: "short" } }));
    refuses("webpush", JSON.stringify({ endpoint: { $ne: 1 }, keys: { p256dh: key, auth } }));
  });

  it("lets nothing through under a rule that nobody knows", () => {
    refuses("anps", hex, "__proto__");
    refuses("constructor", hex);
  });
});
