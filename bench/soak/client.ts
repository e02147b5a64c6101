/**
 * The clients of `npm run bench -- soak`: registrations at a given rate, whether they are answered or not;
 * each is sent again until it is acknowledged. Ends with a line of JSON, after it has written when each
 * token's last acknowledged registration was sent: a Float64Array of milliseconds since 1970, by the token's
 * number, 0 for one that was never acknowledged.
 *
 * Usage: node bench/soak/client.ts ORDER-FILE
 */
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { rawRequest } from "../http/request.ts";
import { openConnection, type End, type SoakConnection } from "./connection.ts";
import type { SoakOrder, SoakResult } from "./load.ts";
import { numberedTokens } from "./tokens.ts";

const [, , orderFile = ""] = process.argv;
const order = JSON.parse(readFileSync(orderFile, "utf8")) as SoakOrder;
const url = new URL(order.url);
const [beforeToken = "", afterToken = ""] = rawRequest(url, order.template).split("{token}");
const { token } = numberedTokens(order.seed);

/** A registration, and when it was to be sent first (on the clock of performance.now()). */
interface Registration {
  readonly number: number;
  readonly due: number;
}

const againAfterMs = 100;
/** So long the last ones may take. */
const maxEndMs = 120_000;

const sentOn = new Float64Array(order.tokens);
const ends: Record<string, number> = {};
/** Answers by their time in tenths of milliseconds. */
const times = new Uint32Array(600_000);
let acknowledged = 0;
let begun = 0;

const idle: SoakConnection[] = [];
const again: { readonly registration: Registration; readonly at: number }[] = [];

const start = performance.now();
const end = start + order.seconds * 1_000;

/** The next registration that has to be sent by now; undefined when there is none. */
function next(now: number): Registration | undefined {
  const [first] = again;
  if (first !== undefined && first.at <= now) {
    again.shift();
    return first.registration;
  }
  // Without a rate each connection sends its next as soon as the last is answered.
  const due = order.rate === undefined ? now : start + (1_000 * begun) / order.rate;
  if (due > now || due >= end) return undefined;
  const number = begun % order.tokens;
  begun += 1;
  return { number, due };
}

function sendDue(): void {
  for (;;) {
    const connection = idle.at(-1);
    if (connection === undefined) return;
    const registration = next(performance.now());
    if (registration === undefined) return;
    idle.pop();
    send(connection, registration);
  }
}

function send(connection: SoakConnection, registration: Registration): void {
  const sent = Date.now();
  connection.send(beforeToken + token(registration.number) + afterToken, (how: End, last: boolean) => {
    ends[how] = (ends[how] ?? 0) + 1;
    const now = performance.now();
    if (how === 200) {
      acknowledged += 1;
      sentOn[registration.number] = Math.max(sent, sentOn[registration.number] ?? 0);
      const tenths = Math.min(times.length - 1, Math.floor((now - registration.due) * 10));
      times[tenths] = (times[tenths] ?? 0) + 1;
    } else again.push({ registration, at: now + againAfterMs });
    if (last) return;
    idle.push(connection);
    sendDue();
  });
}

/** Keeps a connection open and reopens it when it ends. */
function connect(): void {
  openConnection(url, {
    opened(connection) {
      idle.push(connection);
      sendDue();
    },
    closed(connection) {
      const at = idle.indexOf(connection);
      if (at !== -1) idle.splice(at, 1);
      setTimeout(connect, againAfterMs);
    },
  });
}

/** The time, in milliseconds, below which this share of the answers came. */
function timeBelow(share: number): number {
  let rest = share * acknowledged;
  return times.findIndex((count) => (rest -= count) <= 0) / 10;
}

for (let opened = 0; opened < order.connections; opened += 1) connect();
const ticking = setInterval(sendDue, 1);
const dueInAll = (): number => (order.rate === undefined ? begun : Math.ceil(order.rate * order.seconds));
let now = start;
while (now < end || (acknowledged < dueInAll() && now < end + maxEndMs)) {
  await sleep(20);
  now = performance.now();
}
clearInterval(ticking);
writeFileSync(order.sentFile, sentOn);
const result: SoakResult = {
  acknowledged,
  perSecond: (1_000 * acknowledged) / (now - start),
  ...{ p50: timeBelow(0.5), p99: timeBelow(0.99), max: timeBelow(1) },
  ends,
  unacknowledged: dueInAll() - acknowledged,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
// The connections are still open.
process.exit();
