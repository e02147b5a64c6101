import assert from "node:assert/strict";
import { afterEach, before, describe, it } from "node:test";

import { getPort } from "../../support/local.ts";
import { call, type Call } from "../../support/http.ts";
import { mongoErrors, startMongoProxy } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { definition, waitUntilNotReady, waitUntilReady, stage, type Scene } from "../../support/scene.ts";
import { bootstrap, type TestService } from "../../support/service.ts";

const { stack, scene } = stage();
const store = await startMongoProxy(getPort(stack.mongodb));

/** The setting of a service that connects to the store through the proxy. */
const throughProxy = ({ db }: Scene, options = "") => ({
  MONGODB_URI: `${store.uri(db.databaseName)}${options}`,
});

/** The number of rebalances: 1 as long as the service stays in the group. */
const countRebalances = ({ log }: TestService): number =>
  log.filter(({ msg, component }) => msg === "partitions assigned" && component === "announcements").length;

const countFailedWrites = ({ log }: TestService): number =>
  log.filter(({ msg }) => msg?.includes("could not be written") === true).length;

describe("a failing network between the service and MongoDB", () => {
  it("does not stop the sync if it closes the connections repeatedly", async () => {
    const own = scene();
    await own.createTopic();
    await own.announce(0, 5_000);
    const service = await own.start(throughProxy(own));
    for (const part of [1, 2_000]) {
      await until(`${part} announcements are applied`, async () => (await own.applied()) >= part);
      store.cut();
      await waitUntilNotReady(service, "mongodb");
      store.heal();
      await waitUntilReady(service);
    }
    // Without a pause, so that each reset hits another phase of the sync.
    for (const bytes of [200, 1_000, 3_000]) {
      await new Promise<void>((resolve) => {
        store.afterAnswers(bytes, resolve);
      });
      store.reset();
    }
    await own.inStep();
    await waitUntilReady(service);
    assert.equal(countRebalances(service), 1);
    assert.equal(await service.stop(), 0);
  });

  it("does not stop the sync if it drops all packets: requests get 503, and new connections are used at once", async () => {
    const own = scene();
    await own.createTopic();
    const service = await own.start(throughProxy(own));
    const url = `${service.url}/api/svc_api_notif_mgmt/topic`;
    const ids = Array.from({ length: 8 }, (_, i) => `by-hand-${i}`);
    const post = (id: string, as: Call["as"] = bootstrap) => call(url, { body: definition(id), as });
    // Concurrently, so that each request opens a connection in the pool.
    for (const { status } of await Promise.all(ids.map((id) => post(id)))) assert.equal(status, 201);
    for (const id of ids) own.announced.set(id, definition(id).name);
    await own.announce(0, 5_000);
    await until("some announcements are applied", async () => (await own.applied()) > 0);
    store.freeze();
    const stranger = { user: "somebody", password: "unknown" };
    const rejected = await Promise.all([...ids.map((id) => post(`${id}-late`)), post("stranger", stranger)]);
    for (const { status, json } of rejected) {
      assert.equal(status, 503);
      assert.equal(json.error.code, "UNAVAILABLE");
    }
    await waitUntilNotReady(service, "mongodb");
    await waitUntilNotReady(service, "consumer");
    store.heal();
    await waitUntilReady(service);
    await own.inStep();
    assert.equal(countRebalances(service), 1);
    assert.equal(await service.stop(), 0);
  });
});

describe("a MongoDB with faults", () => {
  const own = scene();
  let service: TestService;
  let next = 0;
  const announce = async (count: number): Promise<void> => {
    await own.announce(next, next + count);
    next += count;
  };

  before(async () => {
    await own.createTopic();
    // A real primary that steps down notifies its clients. This server does not, so the client must poll.
    service = await own.start(throughProxy(own, "&serverMonitoringMode=poll"));
  });

  // What a failed test left must not fail the others.
  afterEach(() => {
    store.heal();
    store.clear();
  });

  /**
   * Asserts that the fault occurred, everything is applied, and the service is ready and still in the group.
   */
  const assertRecovered = async (): Promise<void> => {
    await own.inStep();
    assert.equal(store.pending(), 0, "the fault did not occur");
    await waitUntilReady(service);
    assert.equal(countRebalances(service), 1);
  };

  it("slows the sync down if each response takes half a second", async () => {
    store.delay(500);
    await announce(2_000);
    await own.inStep();
    store.heal();
    await assertRecovered();
  });

  it("may need longer for a write than the session timeout of the group", async () => {
    // The session timeout is 10 s.
    store.fail({ command: "insert", executed: true, answer: {}, delayMs: 12_000, times: 1 });
    await announce(100);
    await assertRecovered();
    assert.equal(countFailedWrites(service), 0);
  });

  it("receives smaller writes while larger ones fail", async () => {
    const times = 50;
    const answer = mongoErrors.tooSlow;
    store.fail({ command: "insert", largerThan: 20_000, executed: false, answer, times });
    await announce(1_000);
    await own.inStep();
    assert.ok(store.pending() > 0, "every fault occurred before the batch was written");
    store.clear();
    await announce(1_000);
    await assertRecovered();
  });

  it("may lose its primary during an insert", async () => {
    store.fail({ command: "insert", executed: false, answer: mongoErrors.notWritablePrimary, times: 7 });
    await announce(100);
    await assertRecovered();
  });

  it("may lose its primary during a commit", async () => {
    const answer = mongoErrors.notWritablePrimary;
    store.fail({ command: "commitTransaction", executed: false, answer, times: 3 });
    await announce(100);
    await assertRecovered();
  });

  it("may report that a commit was not replicated in time", async () => {
    const answer = mongoErrors.writeConcernTimeout;
    store.fail({ command: "commitTransaction", executed: true, answer, times: 1 });
    await announce(100);
    await assertRecovered();
  });

  for (const times of [1, 2]) {
    it(`may store a commit and report an error ${times === 1 ? "once" : "for the retry as well"}`, async () => {
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
      await assertRecovered();
      assert.equal(await own.retired.countDocuments(), before + 50);
      const audited = service.log.filter(({ audit }) => audit === true).slice(auditedBefore);
      const actions = Map.groupBy(audited, ({ msg }) => msg);
      assert.deepEqual(
        ["topic.retired", "topic.changed", "topic.created"].map((action) => actions.get(action)?.length),
        [50, 50, 50],
      );
    });
  }

  it("is followed by a clean shutdown", async () => {
    assert.equal(await service.stop(), 0);
  });
});
