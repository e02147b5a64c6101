/**
 * The clients of `npm run bench -- soak`: they register at a constant rate, even while earlier ones wait for
 * a response, and retry each until it is acknowledged. Prints one line of JSON, and writes when each
 * token's last acknowledged registration was sent: a Float64Array of ms since 1970 by token number, 0 if
 * never.
 *
 * Usage: node bench/soak/client.ts LOAD-FILE
 */
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { createRawRequest } from "../http/request.ts";
import { openConnection, type Outcome, type SoakConnection } from "./connection.ts";
import { createNumberedTokens, type SoakLoad, type SoakResult } from "./load.ts";

const [, , loadFile = ""] = process.argv;
const load = JSON.parse(readFileSync(loadFile, "utf8")) as SoakLoad;
const url = new URL(load.url);
const [beforeToken = "", afterToken = ""] = createRawRequest(url, load.template).split("{token}");
const { token } = createNumberedTokens(load.seed);

/** `due` is when to send it first, on the clock of performance.now(). */
interface Registration {
  readonly number: number;
  readonly due: number;
}

const retryDelayMs = 100;
const maxDrainMs = 120_000;

const sentOn = new Float64Array(load.tokens);
const outcomes: Record<string, number> = {};
/** The number of responses by their time in tenths of a ms. */
const times = new Uint32Array(600_000);
let acknowledged = 0;
let begun = 0;

const idle: SoakConnection[] = [];
const retries: { readonly registration: Registration; readonly at: number }[] = [];

const start = performance.now();
const end = start + load.seconds * 1_000;

/** Takes the next registration that is due; undefined if there is none. */
function takeNext(now: number): Registration | undefined {
  const [first] = retries;
  if (first !== undefined && first.at <= now) {
    retries.shift();
    return first.registration;
  }
  // Without a rate each connection sends as soon as it receives a response.
  const due = load.rate === undefined ? now : start + (1_000 * begun) / load.rate;
  if (due > now || due >= end) return undefined;
  const number = begun % load.tokens;
  begun += 1;
  return { number, due };
}

function sendDue(): void {
  for (;;) {
    const connection = idle.at(-1);
    if (connection === undefined) return;
    const registration = takeNext(performance.now());
    if (registration === undefined) return;
    idle.pop();
    send(connection, registration);
  }
}

function send(connection: SoakConnection, registration: Registration): void {
  const sent = Date.now();
  connection.send(beforeToken + token(registration.number) + afterToken, (how: Outcome, last: boolean) => {
    outcomes[how] = (outcomes[how] ?? 0) + 1;
    const now = performance.now();
    if (how === 200) {
      acknowledged += 1;
      sentOn[registration.number] = Math.max(sent, sentOn[registration.number] ?? 0);
      const tenths = Math.min(times.length - 1, Math.floor((now - registration.due) * 10));
      times[tenths] = (times[tenths] ?? 0) + 1;
    } else retries.push({ registration, at: now + retryDelayMs });
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
      setTimeout(connect, retryDelayMs);
    },
  });
}

function getQuantileMs(share: number): number {
  let rest = share * acknowledged;
  return times.findIndex((count) => (rest -= count) <= 0) / 10;
}

for (let opened = 0; opened < load.connections; opened += 1) connect();
const ticking = setInterval(sendDue, 1);
const countDue = (): number => (load.rate === undefined ? begun : Math.ceil(load.rate * load.seconds));
let now = start;
while (now < end || (acknowledged < countDue() && now < end + maxDrainMs)) {
  await sleep(20);
  now = performance.now();
}
clearInterval(ticking);
writeFileSync(load.sentFile, sentOn);
const result: SoakResult = {
  acknowledged,
  perSecond: (1_000 * acknowledged) / (now - start),
  p50: getQuantileMs(0.5),
  p99: getQuantileMs(0.99),
  max: getQuantileMs(1),
  outcomes: outcomes,
  unacknowledged: countDue() - acknowledged,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
// The connections are still open.
process.exit();
