import assert from "node:assert/strict";
import { it } from "node:test";

import kafkajs from "kafkajs";

import { toKafkaError } from "../errors.ts";
import { createRequests } from "../requests.ts";

/** As kafkajs' retry/index.js does. */
const wrap = (cause: Error): Error =>
  Object.assign(new kafkajs.KafkaJSNonRetriableError(cause.message), { cause });

it("takes errors of sockets and of kafkajs for outages", () => {
  for (const error of [
    new kafkajs.KafkaJSError("Broker not connected"),
    wrap(new Error("connect ECONNREFUSED")),
    Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
  ]) {
    const converted = toKafkaError(error);
    assert.equal(converted.name, "UnavailableError");
    assert.equal(converted.cause, error);
  }
});

it("names the setting when a listener and this client differ about TLS", () => {
  for (const [message, hint] of [
    ["Closed connection", /the listener may expect TLS: check KAFKA_TLS/],
    [
      "Client network socket disconnected before secure TLS connection was established",
      /the listener may not expect TLS: check KAFKA_TLS/,
    ],
    ["Connection timeout", /^Kafka does not respond: Connection timeout$/],
  ] as const)
    assert.match(toKafkaError(wrap(new kafkajs.KafkaJSConnectionError(message))).message, hint);
});

it("takes no fault of the program for an outage, also if kafkajs wraps it", async () => {
  const fault = new TypeError("undefined is not a function");
  assert.equal(toKafkaError(wrap(fault)), fault);
  let attempts = 0;
  const requests = createRequests(() => ({
    connect() {
      attempts += 1;
      return Promise.reject(fault);
    },
  }));
  await assert.rejects(requests.fetchMetadata([]), fault);
  assert.equal(attempts, 1);
});
