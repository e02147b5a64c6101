import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { getPort } from "../../unit/embedded/local.ts";
import { call, type Call } from "../../support/http.ts";
import { mongoErrors, startMongoProxy } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { definition, waitUntilNotReady, waitUntilReady, stage, type Scene } from "../../support/scene.ts";
import { bootstrap, startTopicsync, type TestService } from "../../support/service.ts";
import { databaseUri, sharedStack } from "../../support/stack.ts";

const stack = sharedStack();
const { scene } = stage(stack);
const store = await startMongoProxy(getPort(stack.mongodb));

/** The settings of a service whose way to the store leads through the proxy. */
const throughProxy = ({ settings, uri }: Scene, options = ""): Record<string, string> => {
  const proxied = `mongodb://127.0.0.1:${store.port}/?directConnection=true${options}`;
  return { ...settings, MONGODB_URI: databaseUri(proxied, new URL(uri).pathname.slice(1)) };
};

/** How often the service was given partitions: once, as long as it keeps its place in the group. */
const joins = ({ log }: TestService): number => log.filter(({ msg }) => msg === "partitions assigned").length;

const failedWrites = ({ log }: TestService): number =>
  log.filter(({ msg }) => msg?.includes("could not be written") === true).length;

const noAnswer = /MongoDB does not answer|no answer within/;

describe("a network that fails on the way to MongoDB", () => {
  it("is borne when it cuts the connections again and again in mid-sync", async () => {
    const own = scene();
    await own.createTopic();
    await own.announce(0, 5_000);
    const service = await startTopicsync(throughProxy(own));
    for (const part of [1, 2_000]) {
      await until(`${part} are applied`, async () => (await own.applied()) >= part);
      store.cut();
      await waitUntilNotReady(service, "mongodb", noAnswer);
      store.heal();
      await waitUntilReady(service);
    }
    // Without a pause, wherever the sync just is.
    for (const bytes of [200, 1_000, 3_000]) {
      await new Promise<void>((resolve) => {
        store.afterAnswers(bytes, resolve);
      });
      store.reset();
    }
    await own.inStep();
    await waitUntilReady(service);
    assert.equal(joins(service), 1);
    assert.equal(await service.stop(), 0);
  });

  it("is borne when it swallows everything: who asks is answered, and new connections are used at once", async () => {
    const own = scene();
    await own.createTopic();
    const service = await startTopicsync(throughProxy(own));
    await service.ready();
    const url = `${service.url}/api/svc_api_notif_mgmt/topic`;
    const ids = Array.from({ length: 8 }, (_, i) => `by-hand-${i}`);
    const post = (id: string, as: Call["as"] = bootstrap) => call(url, { body: definition(id), as });
    // At once, so that each has a connection of its own in the pool.
    for (const { status } of await Promise.all(ids.map((id) => post(id)))) assert.equal(status, 201);
    for (const id of ids) own.announced.set(id, definition(id).name);
    await own.announce(0, 5_000);
    await until("some are applied", async () => (await own.applied()) > 0);
    store.freeze();
    const stranger = { user: "somebody", password: "unknown" };
    const rejected = await Promise.all([...ids.map((id) => post(`${id}-late`)), post("stranger", stranger)]);
    for (const { status, json } of rejected) {
      assert.equal(status, 503);
      assert.equal(json.error.code, "UNAVAILABLE");
    }
    await waitUntilNotReady(service, "mongodb", noAnswer);
    await waitUntilNotReady(service, "consumer", /the sync is paused/);
    store.heal();
    await waitUntilReady(service);
    await own.inStep();
    assert.equal(joins(service), 1);
    assert.equal(await service.stop(), 0);
  });
});

describe("a MongoDB that is troubled", () => {
  const own = scene();
  let service: TestService;
  let next = 0;
  const announce = async (count: number): Promise<void> => {
    await own.announce(next, next + count);
    next += count;
  };

  before(async () => {
    await own.createTopic();
    // A real server that steps down tells whoever watches it. This one knows nothing of it, so it has to be asked.
    service = await startTopicsync(throughProxy(own, "&serverMonitoringMode=poll"));
    await service.ready();
  });

  /** The service lives, kept its place in the group and took everything. */
  const allIsWell = async (): Promise<void> => {
    await own.inStep();
    assert.equal(store.pending(), 0, "the fault befell it");
    await waitUntilReady(service);
    assert.equal(joins(service), 1);
  };

  it("slows the sync down when every answer takes half a second", async () => {
    store.delay(500);
    await announce(2_000);
    await own.inStep();
    store.heal();
    await allIsWell();
  });

  it("may take longer for a write than the group waits for a sign of life", async () => {
    // The group's patience is 10 s.
    store.fail({ command: "insert", executed: true, answer: {}, delayMs: 12_000, times: 1 });
    await announce(100);
    await allIsWell();
    assert.equal(failedWrites(service), 0);
  });

  it("gets smaller writes for as long as it cannot take larger ones", async () => {
    const times = 50;
    store.fail({
      ...{ command: "insert", largerThan: 20_000, executed: false, answer: mongoErrors.tooSlow, times },
    });
    await announce(1_000);
    await own.inStep();
    assert.ok(store.pending() > 0, "it came through before the store was well again");
    store.clear();
    await announce(1_000);
    await allIsWell();
  });

  it("may lose its primary at an insert", async () => {
    store.fail({ command: "insert", executed: false, answer: mongoErrors.notWritablePrimary, times: 7 });
    await announce(100);
    await allIsWell();
  });

  it("may lose its primary at a commit", async () => {
    const answer = mongoErrors.notWritablePrimaryAtCommit;
    store.fail({ command: "commitTransaction", executed: false, answer, times: 3 });
    await announce(100);
    await allIsWell();
  });

  it("may say that a commit was not replicated in time", async () => {
    const answer = mongoErrors.writeConcernTimeout;
    store.fail({ command: "commitTransaction", executed: true, answer, times: 1 });
    await announce(100);
    await allIsWell();
  });

  for (const times of [1, 2]) {
    it(`may store a commit and deny it ${times === 1 ? "once" : "also when it is asked again"}`, async () => {
      await announce(100);
      await own.inStep();
      const before = await own.retired.countDocuments();
      const answer = mongoErrors.shutdownInProgress;
      store.fail({ command: "commitTransaction", executed: true, answer, times });
      const first = next;
      const auditedBefore = service.log.filter(({ audit }) => audit === true).length;
      await own.retire(first - 100, first - 50);
      await own.announce(first - 50, first, "Renamed");
      await announce(50);
      await allIsWell();
      assert.equal(await own.retired.countDocuments(), before + 50);
      const audited = service.log.filter(({ audit }) => audit === true).slice(auditedBefore);
      const actions = Map.groupBy(audited, ({ msg }) => msg);
      assert.deepEqual(
        ["topic.retired", "topic.changed", "topic.created"].map((action) => actions.get(action)?.length),
        [50, 50, 50],
      );
    });
  }

  it("ends with all that in order", async () => {
    assert.equal(await service.stop(), 0);
  });
});
