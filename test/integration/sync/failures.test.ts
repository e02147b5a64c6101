import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Document } from "mongodb";

import { getPort } from "../../unit/embedded/local.ts";
import { call } from "../../support/http.ts";
import { mongoErrors, startMongoProxy } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { waitUntilNotReady, waitUntilReady, stage } from "../../support/scene.ts";
import { bootstrap, runCli, startTopicsync, type TestService } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const stack = sharedStack();
const { scene } = stage(stack);
const store = await startMongoProxy(getPort(stack.mongodb));

describe("a MongoDB that does not accept writes", () => {
  const own = scene();
  let service: TestService;
  let next = 0;

  before(async () => {
    await own.createTopic();
    const uri = store.uri(new URL(own.uri).pathname.slice(1));
    service = await startTopicsync({ ...own.settings, MONGODB_URI: uri });
    await service.ready();
  });

  const announceWhile = async (answer: Document, times: number): Promise<void> => {
    store.fail({ command: "insert", executed: false, answer, times });
    await own.announce(next, next + 100);
    next += 100;
  };

  /** What the partition says of itself, once it is paused for a cause. */
  const pausedBy = (cause: string) =>
    until(`it is paused by an ${cause}`, async () => {
      const { json } = await call(`${service.url}/api/topicsync/v1/sync`, { method: "GET", as: bootstrap });
      const [partition] = json.partitions;
      return partition.cause === cause ? (partition as { state: string; reason: string }) : undefined;
    });

  const metricIs = (value: number) =>
    until(`the metric is ${value}`, async () => {
      const { text } = await call(`${service.url}/metrics`, { method: "GET", as: undefined });
      return /^topicsync_partition_failing\{.*\} (\d)$/m.exec(text)?.[1] === String(value);
    });

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
    it(`is no outage but an error, and is told as such: ${what}`, async () => {
      await announceWhile(answer, 10_000);
      const { state, reason } = await pausedBy("error");
      assert.equal(state, "paused");
      assert.match(reason, message);
      await metricIs(1);
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
      await metricIs(0);
    });

  it("is an outage where it cannot do it now", async () => {
    await announceWhile(mongoErrors.tooSlow, 10_000);
    const { reason } = await pausedBy("outage");
    assert.match(reason, /^MongoDB does not answer: operation exceeded time limit/);
    await metricIs(0);
    store.clear();
    await own.inStep();
    await waitUntilReady(service);
  });

  it("has a unique index that objects, wherever in the answer it says so", async () => {
    const failures = (): number => service.log.filter(({ level }) => level >= 40).length;
    const before = failures();
    await announceWhile(
      { ok: 0, code: 11000, codeName: "DuplicateKey", errmsg: "Duplicate key violation" },
      1,
    );
    await own.inStep();
    assert.equal(store.pending(), 0);
    assert.equal(failures(), before, "the batch was decided again, and nothing failed");
    assert.equal(await service.stop(), 0);
  });
});

describe("a MongoDB that does not accept the credentials", () => {
  const own = scene();
  const reject = (): void => {
    const answer = { ok: 0, code: 18, codeName: "AuthenticationFailed", errmsg: "Authentication failed." };
    store.fail({ command: "create", executed: false, answer, times: 1 });
  };
  const settings = { ...own.settings, MONGODB_URI: store.uri(new URL(own.uri).pathname.slice(1)) };
  const reason =
    /MongoDB does not accept the credentials of MONGODB_URI: Authentication failed\..*authSource/;

  it("ends the service with 78 and the reason", async () => {
    reject();
    const service = await startTopicsync(settings);
    await until("it has ended", () => service.process.exitCode !== null);
    assert.equal(service.process.exitCode, 78);
    assert.match(service.log.find(({ level }) => level === 60)?.msg ?? "", reason);
  });

  it("ends a command with 78 and the reason", async () => {
    reject();
    const { code, errors } = await runCli(["users", "list"], settings);
    assert.equal(code, 78);
    assert.match(errors, reason);
  });
});
