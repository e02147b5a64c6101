import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { definition, getReadiness, stage } from "../../support/scene.ts";
import { runCli, startTopicsync } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const stack = sharedStack();
const { kafka, scene } = stage(stack);

describe("a transaction that stays open in the announcements topic", () => {
  it("counts as a lag and is shown as what holds the log up, until it ends", async (test) => {
    const { settings, topic, createTopic, send, stored, announce } = scene();
    await createTopic();
    const service = await startTopicsync(settings);
    await service.ready();
    await announce(0, 1);
    await stored(1);

    const producer = kafka.producer({
      transactionalId: unique("open"),
      idempotent: true,
      maxInFlightRequests: 1,
      transactionTimeout: 300_000,
    });
    test.after(() => producer.disconnect());
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ key: "open", value: JSON.stringify(definition("open")) }] });
    await send(definition("beside"));

    const partition = async (): Promise<SyncStatus["partitions"][number] | undefined> => {
      const { json } = await call(`${service.url}/api/topicsync/v1/sync`, { method: "GET" });
      return (json as SyncStatus).partitions[0];
    };
    const metric = async (name: string): Promise<number> => {
      const { text } = await call(`${service.url}/metrics`, { method: "GET", as: undefined });
      return Number(new RegExp(`^topicsync_partition_${name}\\{.*\\} (.*)$`, "m").exec(text)?.[1]);
    };

    const blocked = await until("its age can be told", async () => {
      const found = await partition();
      return (found?.openTransactionSeconds ?? 0) > 0 ? found : undefined;
    });
    assert.deepEqual(
      { ...blocked, lagSeconds: undefined, openTransactionSeconds: undefined },
      {
        ...{ partition: 0, committedOffset: 1, logStart: 0, logEnd: 3, lastStableOffset: 1, lagRecords: 2 },
        ...{ lagSeconds: undefined, openTransactionSeconds: undefined },
        ...{ assigned: true, owner: "this process", state: "reading", reason: null, cause: null },
      },
    );
    assert.ok((blocked.lagSeconds ?? 0) > 0);
    await until("Prometheus sees it", async () => (await metric("open_transaction_seconds")) > 0);
    assert.equal(await metric("last_stable_offset"), 1);
    assert.equal(await metric("log_end_offset"), 3);
    assert.equal(await metric("lag_records"), 2);
    // Instances work as they should: restarting one would mend nothing.
    assert.equal((await getReadiness(service)).status, 200);
    const { output } = await runCli(["status", "--url", service.url], settings);
    assert.match(output, /2 announcements behind/);
    assert.match(
      output,
      /A transaction has been open in partition 0 for .*: records from offset 1 on cannot/,
    );

    await transaction.commit();
    await stored(3);
    const after = await until("nothing waits any more", async () => {
      const found = await partition();
      return found?.lagRecords === 0 ? found : undefined;
    });
    assert.deepEqual(
      [after.logEnd, after.lastStableOffset, after.openTransactionSeconds],
      [after.committedOffset, after.committedOffset, 0],
    );
    await until("Prometheus sees it", async () => (await metric("open_transaction_seconds")) === 0);
    assert.equal(await service.stop(), 0);
  });
});
