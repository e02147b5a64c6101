import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { it } from "node:test";

import kafkajs from "kafkajs";

import { createRequests } from "../../requests.ts";
import { createCluster } from "../../workarounds/clusters.ts";
import { stopIdleChecks } from "../../workarounds/connections.ts";

stopIdleChecks();

it("reports the broker whose connection does not respond", async (t) => {
  const server = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const broker = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const silent: string[] = [];
  const kafka = new kafkajs.Kafka({
    brokers: [broker],
    requestTimeout: 100,
    retry: { retries: 0 },
    logLevel: kafkajs.logLevel.NOTHING,
  });
  const requests = createRequests(() =>
    createCluster(kafka, ({ payload }) => {
      silent.push(payload.broker);
    }),
  );
  t.after(() => requests.close());
  await assert.rejects(requests.fetchStableOffset({ groupId: "g", topic: "t", partition: 0 }), {
    name: /^KafkaJS/u,
  });
  assert.deepEqual(silent, [broker]);
});
