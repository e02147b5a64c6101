import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { checkToken } from "../../../src/installations/token-rules.ts";

const hex = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0";
const key = `B${"a_-9".repeat(21)}AA`;
const auth = "0123456789abcdefABCDEA";
const endpoint = "https://push.example.org/send/abc";

const assertAccepts = (rule: string | undefined, given: string, stored = given) => {
  assert.deepEqual(checkToken(given, rule), { token: stored });
};
const assertRejects = (rule: string, ...tokens: string[]) => {
  for (const token of tokens) assert.ok("fault" in checkToken(token, rule), token);
};

describe("a platform's token rule", () => {
  it("accepts any token unchanged if there is no rule", () => {
    for (const token of ["x", " X ", "{}", "é"]) assertAccepts(undefined, token);
  });

  it("accepts hexadecimal digits for apns and stores them in lower case", () => {
    assertAccepts("apns", hex);
    assertAccepts("apns", hex.toUpperCase(), hex);
    assertAccepts("apns", "ab".repeat(100));
    assertRejects(
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

  it("accepts a registration token for fcm and preserves its case", () => {
    assertAccepts("fcm", "dQw4w9WgXcQ:APA91bH_-aZ09");
    assertAccepts("fcm", `eDJGCX9CTKiaUVsHkcB8fm:APA91b${"H_-aZ09".repeat(19)}`);
    assertAccepts("fcm", `APA91b${"H_-aZ09".repeat(19)}`);
    assertRejects(
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

  it("accepts a Firebase installation ID for fcm", () => {
    for (const first of "cdef") assertAccepts("fcm", `${first}DJGCX9CTKiaUVsH-_B8fm`);
    assertRejects(
      "fcm",
      "gDJGCX9CTKiaUVsH-_B8fm",
      "CDJGCX9CTKiaUVsH-_B8fm",
      "eDJGCX9CTKiaUVsH-_B8f",
      "eDJGCX9CTKiaUVsH-_B8fma",
      "eDJGCX9CTKiaUVsH+/B8fm",
      "eDJGCX9CTKiaUVsH-_B8fm\n",
    );
  });

  it("rejects other services' tokens and other ids for fcm", () => {
    assertRejects("fcm", hex, "550e8400-e29b-41d4-a716-446655440000", "9f86d081884c7d659a2feaa0c55ad015");
  });

  it("accepts an https endpoint or a subscription's JSON for webpush, in a normalized form", () => {
    assertAccepts("webpush", endpoint);
    assertAccepts("webpush", "HTTPS://Push.Example.ORG:443/send/abc", endpoint);
    const keys = { p256dh: key, auth };
    const kept = JSON.stringify({ endpoint, keys });
    assertAccepts("webpush", kept);
    assertAccepts(
      "webpush",
      JSON.stringify({ keys: { auth, p256dh: key }, expirationTime: null, endpoint }, undefined, 2),
      kept,
    );
  });

  it("accepts the keys for webpush in any Base64, and stores one form", () => {
    const p256dh = Buffer.alloc(65, Buffer.from("fbef04", "hex"));
    const secret = Buffer.alloc(16, 0xfb);
    const write = (encode: (bytes: Buffer) => string): string =>
      JSON.stringify({ endpoint, keys: { p256dh: encode(p256dh), auth: encode(secret) } });
    const stored = write((bytes) => bytes.toString("base64url"));
    assertAccepts("webpush", stored);
    assertAccepts(
      "webpush",
      write((bytes) => bytes.toString("base64")),
      stored,
    );
    assertAccepts(
      "webpush",
      write((bytes) => bytes.toString("base64").replaceAll("=", "")),
      stored,
    );
    assertAccepts(
      "webpush",
      write((bytes) => `${bytes.toString("base64url")}=`),
      stored,
    );
    // The last character has bits that belong to no byte.
    assertAccepts("webpush", stored.replace(/-w"\}\}$/, '-_"}}'), stored);
    assertRejects(
      "webpush",
      write((bytes) => bytes.subarray(1).toString("base64")),
    );
    assertRejects(
      "webpush",
      write((bytes) => `${bytes.toString("base64")}===`),
    );
  });

  it("rejects anything but a subscription for webpush", () => {
    assertRejects(
      "webpush",
      "",
      "abc",
      "http://push.example.org/x",
      "https://user@push.example.org/",
      `${endpoint}#x`,
    );
    assertRejects(
      "webpush",
      "{",
      "{}",
      `{"endpoint":"${endpoint}"}`,
      `{"endpoint":"${endpoint}","keys":null}`,
      "[]",
      "null",
    );
    assertRejects("webpush", JSON.stringify({ endpoint, keys: { p256dh: key, auth: "short" } }));
    assertRejects("webpush", JSON.stringify({ endpoint: { $ne: 1 }, keys: { p256dh: key, auth } }));
  });

  it("rejects every token under an unknown rule", () => {
    assertRejects("anps", hex, "__proto__");
    assertRejects("constructor", hex);
  });
});
