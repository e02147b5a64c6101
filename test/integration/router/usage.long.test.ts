import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { TopicUsageView } from "../../../schemas/topics/usage.ts";
import { getPort } from "../../support/local.ts";
import { call } from "../../support/http.ts";
import { apiKeys, startKafkaProxy } from "../../support/kafka-proxy.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { parseNdjson } from "../../support/ndjson.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, routerStage, type RouterScene } from "../../support/router-scene.ts";
import { getSyncStatus } from "../../support/scene.ts";
import type { TestService } from "../../support/service.ts";

const { stack, routerScene } = routerStage();

const getDay = (): string => new Date().toISOString().slice(0, 10);

const hostile = `$a.b "${"x".repeat(900)}`;

async function createScene(settings: Readonly<Record<string, string>> = {}): Promise<RouterScene> {
  const scene = routerScene(settings);
  await scene.createTopics();
  return scene;
}

async function sendTopics(scene: RouterScene): Promise<void> {
  await scene.send(
    defineTopic("all", ""),
    defineTopic("tickets", "eventType=Ticket"),
    defineTopic(hostile, "eventType=Ticket,Alarm"),
    defineTopic("never", "eventType=Never"),
  );
  await scene.stored(4);
}

const produce = (scene: RouterScene, types: Readonly<Record<string, number>>): Promise<void> =>
  scene.produce(
    ...Object.entries(types).flatMap(([type, count]) =>
      Array.from({ length: count }, () => ({ value: createEvent(type) })),
    ),
  );

async function get(service: TestService, path: string): Promise<Readonly<Record<string, unknown>>> {
  const { json } = await call(`${service.url}/api/topicsync/v1/topics${path}`, { method: "GET" });
  return json as Readonly<Record<string, unknown>>;
}

/** The number of events of each topic, by the command line. */
async function readCounts(scene: RouterScene, ...args: string[]): Promise<Record<string, number>> {
  const { code, output, errors } = await scene.cli("topics", "list", ...args, "--json");
  assert.equal(code, 0, errors);
  const views = parseNdjson(output) as { readonly externalId: string; readonly events?: number }[];
  return Object.fromEntries(views.map(({ externalId, events = 0 }) => [externalId, events]));
}

describe("the usage of topics", () => {
  it("is counted across restarts, and shown by commands and HTTP", async () => {
    const scene = await createScene();
    const first = await scene.start();
    await sendTopics(scene);
    assert.deepEqual(await readCounts(scene, "--external-id", "all"), { all: 0 });
    const unknown = await scene.cli("topics", "list", "--unused-for", "1d");
    assert.match(unknown.output, /^No topics match\.$/m);
    assert.match(unknown.errors, /^(?:No counts are stored yet|Events were counted)/);
    const from = getDay();
    await produce(scene, { Ticket: 5, Alarm: 3, Other: 2 });
    await scene.routed();
    assert.equal(await first.stop(), 0);
    const expected = { all: 10, tickets: 5, [hostile]: 8, never: 0 };
    assert.deepEqual(await readCounts(scene), expected);

    const second = await scene.start();
    const usage = (await get(second, "/tickets/usage")) as unknown as TopicUsageView;
    assert.deepEqual([usage.externalId, usage.events], ["tickets", 5]);
    assert.ok(usage.counted !== null && usage.counted.since < usage.counted.until);
    assert.equal((await get(second, `/${encodeURIComponent(hostile)}/usage`)).events, 8);
    assert.equal((await get(second, "/unknown/usage")).status, "failure");
    assert.equal((await get(second, "/tickets")).lastEventOn, usage.lastEventOn);
    const listed = (await get(second, "")).topics as { externalId: string; lastEventOn?: string }[];
    assert.deepEqual(
      listed.filter(({ lastEventOn }) => lastEventOn === undefined).map(({ externalId }) => externalId),
      ["never"],
    );
    await produce(scene, { Ticket: 1 });
    await scene.routed();
    assert.equal(await second.stop(), 0);
    assert.deepEqual(await readCounts(scene), { ...expected, all: 11, tickets: 6, [hostile]: 9 });
    const table = await scene.cli("topics", "list");
    assert.match(table.output, /^external id .* last event$/m);
    assert.match(table.output, new RegExp(`^tickets .*(?:${from}|${getDay()}) \\d\\d:\\d\\d$`, "m"));
    assert.match(
      (await scene.cli("topics", "usage", "tickets")).output,
      /^events +6\nlast event +\S+Z\ncounted +from \S+Z until \S+Z\n$/,
    );
  });

  it("finds unused topics page by page, which are none as long as counting has not lasted", async () => {
    const scene = await createScene();
    const service = await scene.start();
    await sendTopics(scene);
    await produce(scene, { Ticket: 1 });
    await scene.routed();
    await service.stop();
    const long = new Date(Date.now() - 40 * 24 * 60 * 60_000);
    await scene.db
      .collection("svc_api_notif_mgmt_topic")
      .updateMany({}, { $set: { sys_created_on: long, sys_updated_on: long } });
    const second = await scene.start();
    const findUnused = async (query: string) => {
      const { topics, next, counted } = await get(second, `?unusedFor=${query}`);
      return {
        ids: (topics as { externalId: string }[]).map(({ externalId }) => externalId),
        ...{ next, counted },
      };
    };
    const recent = await findUnused("30d");
    assert.deepEqual([recent.ids, recent.next], [[], null]);
    assert.match(
      (await scene.cli("topics", "list", "--unused-for", "30d")).errors,
      /^Events were counted from .* if they were counted for all of 30d\.\n$/,
    );
    const usage = scene.db.collection("topicsync_topic_usage");
    await usage.updateOne({ "_id.counting": "events" }, { $set: { since: long } });
    await usage.updateOne({ _id: "tickets" as never }, { $set: { last_on: long } });
    assert.deepEqual((await findUnused("30d")).ids, ["never", "tickets"]);
    const first = await findUnused("30d&limit=1");
    assert.deepEqual([first.ids, typeof first.next], [["never"], "string"]);
    assert.deepEqual((await findUnused(`30d&limit=1&after=${String(first.next)}`)).ids, ["tickets"]);
    assert.deepEqual((await findUnused("30d&search=ti")).ids, ["tickets"]);
    assert.deepEqual(await readCounts(scene, "--unused-for", "30d"), { never: 0, tickets: 1 });
    const answer = await call(`${second.url}/api/topicsync/v1/topics?unusedFor=30`, { method: "GET" });
    assert.equal(answer.status, 400);
    assert.match(answer.text, /unusedFor.*such as 30d, 12h or 45m/);
    const retired = await call(`${second.url}/api/topicsync/v1/topics?unusedFor=30d&state=retired`, {
      method: "GET",
    });
    assert.match(retired.text, /cannot be combined with state=retired/);
    assert.equal((await scene.cli("topics", "list", "--unused-for", "0d")).code, 64);
  });

  it("counts events once although their batch is repeated", async () => {
    const scene = await createScene();
    const proxy = await startKafkaProxy(stack.kafka);
    const service = await scene.start({ KAFKA_BROKERS: proxy.address });
    await scene.send(defineTopic("all", ""));
    await scene.stored(1);
    await produce(scene, { Ticket: 1 });
    await scene.routed();
    proxy.hold(apiKeys.addOffsetsToTxn);
    await produce(scene, { Ticket: 4 });
    await until("a transaction has begun", () => proxy.requests(apiKeys.addOffsetsToTxn) >= 2);
    const held = proxy.requests(apiKeys.addOffsetsToTxn);
    proxy.reset();
    proxy.release();
    await scene.routed();
    assert.ok(proxy.requests(apiKeys.addOffsetsToTxn) > held);
    await service.stop();
    assert.deepEqual(await readCounts(scene), { all: 5 });
  });

  it("loses what was not stored when the router is killed, and no event", async () => {
    const scene = await createScene();
    const killed = await scene.startProcess();
    await scene.send(defineTopic("all", ""));
    await until("the router knows the topic", async () => {
      const { router } = await getSyncStatus(killed);
      return router?.index?.topics === 1;
    });
    await produce(scene, { Ticket: 5 });
    await scene.routed();
    await killed.stop("SIGKILL");
    const service = await scene.start();
    await scene.stored(1);
    await produce(scene, { Ticket: 2 });
    await scene.routed();
    await service.stop();
    assert.equal(await scene.countCopies(), 7);
    assert.deepEqual(await readCounts(scene), { all: 2 });
  });

  it("does not disturb routing when it cannot be stored", async () => {
    const scene = await createScene();
    const proxy = await startMongoProxy(getPort(stack.mongodb));
    const service = await scene.start({ MONGODB_URI: proxy.uri(scene.db.databaseName) });
    await scene.send(defineTopic("all", ""));
    await scene.stored(1);
    proxy.fail({
      ...{ command: "update", collection: "topicsync_topic_usage", executed: false, times: 1_000 },
      answer: { ok: 0, code: 13, codeName: "Unauthorized", errmsg: "not authorized" },
    });
    await produce(scene, { Ticket: 5 });
    await scene.routed();
    assert.equal(await scene.countCopies(), 5);
    assert.equal(await service.stop(), 0);
    assert.ok(service.log.some(({ msg }) => msg === "topic usage not stored"));
  });
});
