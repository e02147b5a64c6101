import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { definition, getMetric, getReadiness, getSyncStatus, stage } from "../../support/scene.ts";
import { beside, runCli } from "../../support/service.ts";

const { kafka, scene } = stage();

describe("a transaction that stays open in the announcements topic", () => {
  it("counts as a lag and is reported as its cause until it ends", async (t) => {
    const { settings, topic, createTopic, start, send, stored, announce } = scene();
    await createTopic();
    const service = await start();
    await announce(0, 1);
    await stored(1);

    const producer = kafka.producer({
      transactionalId: unique("open"),
      idempotent: true,
      maxInFlightRequests: 1,
      transactionTimeout: 300_000,
    });
    t.after(() => producer.disconnect());
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ key: "open", value: JSON.stringify(definition("open")) }] });
    await send(definition("after"));

    /** Waits until the partition's status meets the condition, and returns it. */
    const waitForStatus = (what: string, isMet: (status: SyncStatus["partitions"][number]) => boolean) =>
      until(what, async () => {
        const [status] = (await getSyncStatus(service)).partitions;
        return status !== undefined && isMet(status) && status;
      });
    const getPartitionMetric = (name: string) => getMetric(service, `topicsync_partition_${name}`);

    const blocked = await waitForStatus(
      "the age of the transaction is known",
      ({ openTransactionSeconds }) => (openTransactionSeconds ?? 0) > 0,
    );
    assert.deepEqual(
      { ...blocked, lagSeconds: undefined, openTransactionSeconds: undefined },
      {
        ...{ partition: 0, committedOffset: 1, logStart: 0, logEnd: 3, lastStableOffset: 1, lagRecords: 2 },
        ...{ lagSeconds: undefined, openTransactionSeconds: undefined },
        ...{ assigned: true, owner: "this process", state: "reading", reason: null, cause: null },
      },
    );
    assert.ok((blocked.lagSeconds ?? 0) > 0);
    await until(
      "the metric is updated",
      async () => (await getPartitionMetric("open_transaction_seconds")) > 0,
    );
    assert.equal(await getPartitionMetric("last_stable_offset"), 1);
    assert.equal(await getPartitionMetric("log_end_offset"), 3);
    assert.equal(await getPartitionMetric("lag_records"), 2);
    // The instances work correctly, and restarting one would not help.
    assert.equal((await getReadiness(service)).status, 200);
    const { output } = await runCli(["status"], { ...settings, ...beside(service) });
    assert.match(output, /2 announcements behind/);
    assert.match(
      output,
      /A transaction has been open in partition 0 for .*: records from offset 1 on cannot/,
    );

    await transaction.commit();
    await stored(3);
    const after = await waitForStatus("the lag is 0", ({ lagRecords }) => lagRecords === 0);
    assert.deepEqual(
      [after.logEnd, after.lastStableOffset, after.openTransactionSeconds],
      [after.committedOffset, after.committedOffset, 0],
    );
    await until(
      "the metric is updated",
      async () => (await getPartitionMetric("open_transaction_seconds")) === 0,
    );
    assert.equal(await service.stop(), 0);
  });
});
