/**
 * The flood of `npm run bench -- flood`: logins with wrong passwords at a constant rate, even without
 * responses. Every other one names the user of the regular clients. Prints one line of JSON: the responses
 * by status.
 *
 * Usage: node bench/http/flood-client.ts URL TEMPLATE USER PER-SECOND SECONDS ADDRESS,…
 */
import { randomUUID } from "node:crypto";
import { Agent, request, type OutgoingHttpHeaders } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { toBasicAuthorization, createBody, randomToken, type RequestTemplate } from "./request.ts";
import { quantile } from "../support/report.ts";

const [, , address = "", templateText = "", user = "", perSecond = "", seconds = "", from = ""] =
  process.argv;
const template = JSON.parse(templateText) as RequestTemplate;
const url = new URL(template.path, address);
const localAddresses = from.split(",");
const agent = new Agent({ keepAlive: true });

/** More would test the machine's sockets. */
const maxConcurrency = 2_000;
const responseTimeoutMs = 10_000;

const statuses: Record<string, number> = {};
const count = (status: string): void => void (statuses[status] = (statuses[status] ?? 0) + 1);
const responseTimes: number[] = [];
let inFlight = 0;
let number = 0;

function sendWrong(): void {
  if (inFlight >= maxConcurrency) {
    count("not sent");
    return;
  }
  number += 1;
  const name = number % 2 === 0 ? user : randomUUID();
  const headers: OutgoingHttpHeaders = { ...template.headers, ...toBasicAuthorization(name, randomUUID()) };
  const localAddress = localAddresses[number % localAddresses.length] ?? "";
  const started = performance.now();
  inFlight += 1;
  const sent = request(url, { method: "POST", headers, agent, localAddress, timeout: responseTimeoutMs });
  sent.on("timeout", () => sent.destroy(new Error("no response in time")));
  sent.on("response", (response) => {
    responseTimes.push(performance.now() - started);
    count(String(response.statusCode));
    response.resume();
  });
  sent.on("error", () => {
    count("no response");
  });
  sent.on("close", () => (inFlight -= 1));
  sent.end(createBody(template, randomToken()));
}

const start = performance.now();
for (let sent = 0; sent < Number(perSecond) * Number(seconds); sent += 1) {
  const due = start + (1_000 * sent) / Number(perSecond);
  const early = due - performance.now();
  if (early > 0) await sleep(early);
  sendWrong();
}
while (inFlight > 0) await sleep(50);
agent.destroy();
const p50 = quantile(responseTimes, 0.5);
const p99 = quantile(responseTimes, 0.99);
process.stdout.write(`${JSON.stringify({ statuses, p50, p99 })}\n`);
