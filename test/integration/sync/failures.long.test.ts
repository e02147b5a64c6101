import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Document } from "mongodb";

import { getPort } from "../../support/local.ts";
import { mongoErrors, startMongoProxy } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { getMetric, getSyncStatus, waitUntilNotReady, waitUntilReady, stage } from "../../support/scene.ts";
import { runCli, startTopicsync, type TestService } from "../../support/service.ts";

const { stack, scene } = stage();
const store = await startMongoProxy(getPort(stack.mongodb));

describe("a MongoDB that does not accept writes", () => {
  const own = scene();
  let service: TestService;
  let next = 0;

  before(async () => {
    await own.createTopic();
    service = await own.start({ MONGODB_URI: store.uri(own.db.databaseName) });
    // The first claim inserts the record of the log.
    await own.announce(next, next + 1);
    next += 1;
    await own.inStep();
  });

  const announceWhile = async (answer: Document, times: number): Promise<void> => {
    store.fail({ command: "insert", executed: false, answer, times });
    await own.announce(next, next + 100);
    next += 100;
  };

  /** Waits until the partition is paused for this cause, and returns its status. */
  const waitForPause = (cause: "error" | "outage") =>
    until(`the partition is paused by an ${cause}`, async () => {
      const [partition] = (await getSyncStatus(service)).partitions;
      return partition?.cause === cause && partition;
    });

  const waitForMetric = (value: number) =>
    until(
      `the metric is ${value}`,
      async () => (await getMetric(service, "topicsync_partition_failing")) === value,
    );

  for (const [what, answer, message] of [
    [
      "a full disk",
      { ok: 0, code: 14031, codeName: "OutOfDiskSpace", errmsg: "no space left" },
      /^no space left$/,
    ],
    [
      "a missing privilege",
      { ok: 0, code: 13, codeName: "Unauthorized", errmsg: "not authorized on t" },
      /^not authorized on t$/,
    ],
  ] as const)
    it(`pauses the sync with an error if the cause is not an outage: ${what}`, async () => {
      await announceWhile(answer, 10_000);
      const { state, reason } = await waitForPause("error");
      assert.equal(state, "paused");
      assert.match(reason ?? "", message);
      await waitForMetric(1);
      await waitUntilNotReady(
        service,
        "consumer",
        new RegExp(`: unexpected error: ${message.source.slice(1, -1)}`),
      );
      const line = service.log.findLast(({ msg }) =>
        msg?.startsWith("batch failed with an unexpected error"),
      );
      assert.equal(line?.level, 50);
      store.clear();
      await own.inStep();
      await waitUntilReady(service);
      await waitForMetric(0);
    });

  it("pauses the sync as an outage if the cause is temporary", async () => {
    await announceWhile(mongoErrors.tooSlow, 10_000);
    const { reason } = await waitForPause("outage");
    assert.match(reason ?? "", /^MongoDB does not respond: operation exceeded time limit/);
    await waitForMetric(0);
    store.clear();
    await own.inStep();
    await waitUntilReady(service);
  });

  it("may report a duplicate key for the whole command, and the batch is decided again", async () => {
    const failures = (): number => service.log.filter(({ level }) => level >= 40).length;
    const before = failures();
    await announceWhile(
      { ok: 0, code: 11000, codeName: "DuplicateKey", errmsg: "Duplicate key violation" },
      1,
    );
    await own.inStep();
    assert.equal(store.pending(), 0);
    assert.equal(failures(), before, "something failed");
    assert.equal(await service.stop(), 0);
  });
});

describe("a MongoDB that rejects the credentials", () => {
  const own = scene();
  const reject = (): void => {
    const answer = { ok: 0, code: 18, codeName: "AuthenticationFailed", errmsg: "Authentication failed." };
    store.fail({ command: "create", executed: false, answer, times: 1 });
  };
  const settings = { ...own.settings, MONGODB_URI: store.uri(own.db.databaseName) };
  const reason =
    /MongoDB does not accept the credentials of MONGODB_URI: Authentication failed\..*authSource/;

  it("stops the service with 78 and the reason", async () => {
    reject();
    const service = await startTopicsync(settings);
    await until("the process has exited", () => service.process.exitCode !== null);
    assert.equal(service.process.exitCode, 78);
    assert.match(service.log.find(({ level }) => level === 60)?.msg ?? "", reason);
  });

  it("stops a command with 78 and the reason", async () => {
    reject();
    const { code, errors } = await runCli(["users", "list"], settings);
    assert.equal(code, 78);
    assert.match(errors, reason);
  });
});
