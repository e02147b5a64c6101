import assert from "node:assert/strict";
import { describe, it } from "node:test";

import kafkajs, { type ISocketFactoryArgs } from "kafkajs";

import { connectToIpv6 } from "../../workarounds/clusters.ts";

/** Where a client of these brokers connects to first, and where after a failure. */
async function findDestinations(brokers: string[], isCorrected: boolean): Promise<string[]> {
  const found: string[] = [];
  const kafka = new kafkajs.Kafka({
    brokers,
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { retries: 1, initialRetryTime: 1 },
    socketFactory: ({ host, port }: ISocketFactoryArgs) => {
      found.push(`${host} ${port}`);
      throw new Error("no network");
    },
  });
  if (isCorrected) connectToIpv6(kafka, brokers);
  await assert.rejects(kafka.admin().connect());
  return found;
}

const brokers = ["[fd00::1]:9092", "[::1]:9093"];

describe("brokers with IPv6 addresses", () => {
  it("are connected to, one after the other", async () => {
    assert.deepEqual(await findDestinations(brokers, true), ["fd00::1 9092", "::1 9093"]);
    assert.deepEqual(await findDestinations(["host:1", "127.0.0.1:2"], true), ["host 1", "127.0.0.1 2"]);
  });

  it("are unknown hosts to kafkajs", async () => {
    assert.deepEqual(await findDestinations(brokers, false), ["[fd00 0", "[ 0"]);
  });
});
