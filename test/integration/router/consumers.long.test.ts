import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { TopicConsumersView } from "../../../schemas/topic-consumers.ts";
import { commitOffsets, joinGroup, startNewProtocolConsumer } from "../../support/consumer-groups.ts";
import { call } from "../../support/http.ts";
import { apiKeys, startKafkaProxy } from "../../support/kafka-proxy.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, routerStage, type RouterScene } from "../../support/router-scene.ts";
import type { TestService } from "../../support/service.ts";

const { stack, kafka, admin, routerScene } = routerStage();

type Group = TopicConsumersView["observed"]["groups"][number];

/** A service whose topics, t0 to t9 for instance, each have an egress topic. */
async function createScene(count: number, settings: Readonly<Record<string, string>> = {}) {
  const prefix = unique("to");
  const scene = routerScene({ KAFKA_EGRESS_TOPIC: `${prefix}.{externalId}`, KAFKA_EGRESS_CREATE: "true" });
  await scene.createTopics();
  const service = await scene.start(settings);
  await scene.send(...Array.from({ length: count }, (_, n) => defineTopic(`t${n}`, `eventType=T${n}`)));
  await scene.stored(count);
  return { scene, prefix, service };
}

async function readOverHttp(service: TestService, id: string, key?: string): Promise<TopicConsumersView> {
  const path = `${service.url}/api/topicsync/v1/topics/${id}/consumers`;
  const { status, json, text } = await call(path, { method: "GET", ...(key !== undefined && { key }) });
  assert.equal(status, 200, text);
  return json as TopicConsumersView;
}

/** Asks until the groups were read. */
const waitForGroups = (service: TestService, id: string): Promise<TopicConsumersView> =>
  until("the groups are read", async () => {
    const view = await readOverHttp(service, id);
    return view.observed.asOf !== null && view;
  });

async function readByCommand(scene: RouterScene, ...ids: string[]): Promise<TopicConsumersView[]> {
  const { code, output, errors } = await scene.cli("topics", "consumers", ...ids, "--json");
  assert.equal(code, 0, errors);
  const lines = output.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as TopicConsumersView);
}

const withoutMembers = ({ group, protocol, state, lag, memberCount }: Group): Omit<Group, "members"> => ({
  ...{ group, protocol, state, lag, memberCount },
});

async function fetchEnd(topic: string): Promise<number> {
  const [end] = await admin.fetchTopicOffsets(topic);
  return Number(end?.high);
}

describe("the consumers of topics", () => {
  it("are the groups with offsets in their egress topics, of both protocols, with exact lags", async () => {
    const count = 10;
    const { scene, prefix, service } = await createScene(count);
    const numbers = Array.from({ length: count }, (_, n) => n);
    await scene.produce(...numbers.flatMap((n) => [1, 2, 3].map(() => ({ value: createEvent(`T${n}`) }))));
    await scene.routed();
    // Reading waits for the ends of the transactions, which Kafka writes later and counts in the lags.
    for (const n of numbers) await scene.readAll(`${prefix}.t${n}`);
    const groupOf = (n: number): string => `${prefix}-group-${n}`;
    const consumers = await Promise.all(
      numbers.map((n) => joinGroup(kafka, { groupId: groupOf(n), topic: `${prefix}.t${n}`, offset: n % 4 })),
    );
    await consumers[3]?.disconnect();
    const newGroup = `${prefix}-new-protocol`;
    await startNewProtocolConsumer(stack.kafka, newGroup, `${prefix}.t5`);
    await commitOffsets(kafka, [
      { groupId: "console-consumer-4711", topic: `${prefix}.t1`, offset: 1 },
      { groupId: `${scene.key.group}.dead-letters.push-feedback`, topic: `${prefix}.t1`, offset: 1 },
      { groupId: `${prefix}-gone`, topic: `${prefix}.t2`, offset: 1_000 },
    ]);
    await until("the consumer of the new protocol has read everything", async () => {
      const [view] = await readByCommand(scene, "t5");
      return view?.observed.groups.some(({ group, lag, memberCount }) => {
        return group === newGroup && lag === 0 && memberCount === 1;
      });
    });

    const views = await readByCommand(scene);
    assert.deepEqual(
      views.map(({ externalId }) => externalId),
      numbers.map((n) => `t${n}`),
    );
    for (const [n, { egressTopic, sharedBy, observed }] of views.entries()) {
      assert.deepEqual([egressTopic, sharedBy], [`${prefix}.t${n}`, "topic"]);
      const own = {
        group: groupOf(n),
        protocol: "classic",
        state: n === 3 ? "stopped" : "stable",
        lag: (await fetchEnd(`${prefix}.t${n}`)) - (n % 4),
        memberCount: n === 3 ? 0 : 1,
      };
      const others = {
        2: { group: `${prefix}-gone`, protocol: "classic", state: "stopped", lag: null, memberCount: 0 },
        5: { group: newGroup, protocol: "consumer", state: "stable", lag: 0, memberCount: 1 },
      };
      const expected = [own, ...(n === 2 || n === 5 ? [others[n]] : [])];
      assert.deepEqual(
        observed.groups.map(withoutMembers),
        expected.toSorted((a, b) => (a.group < b.group ? -1 : 1)),
      );
    }
    const members = views[5]?.observed.groups.flatMap((group) => group.members ?? []);
    assert.deepEqual(
      members?.toSorted((a, b) => (a.clientId < b.clientId ? -1 : 1)),
      [
        { clientId: "new-protocol", host: "127.0.0.1" },
        { clientId: "test", host: "127.0.0.1" },
      ],
    );
    const table = await scene.cli("topics", "consumers", "t3", "t5");
    assert.match(table.output, new RegExp(`^t3 .*${groupOf(3)} +stopped +0 +\\d+$`, "m"));
    assert.match(table.output, new RegExp(`^t5 .*${newGroup} +stable +1 +0 +new-protocol at 127`, "m"));
    assert.match(table.errors, /does not prove that nobody reads it\.\n$/);

    const { observed } = await waitForGroups(service, "t5");
    assert.deepEqual(observed.groups, views[5]?.observed.groups);
    const limited = await createKey(service.url, "topics.read@n");
    const hidden = await readOverHttp(service, "t5", limited);
    assert.deepEqual(
      hidden.observed.groups.map(({ memberCount, members: shown }) => [memberCount, shown]),
      [
        [1, null],
        [1, null],
      ],
    );
    const foreign = await createKey(service.url, "topics.read@other");
    const { status } = await call(`${service.url}/api/topicsync/v1/topics/t5/consumers`, {
      ...{ method: "GET", key: foreign },
    });
    assert.equal(status, 404);
  });

  it("are read in the background, once for all, by one request per group", async () => {
    const groups = 300;
    const proxy = await startKafkaProxy(stack.kafka);
    const { scene, prefix, service } = await createScene(1, { KAFKA_BROKERS: proxy.address });
    const topic = `${prefix}.t0`;
    await scene.produce({ value: createEvent("T0") });
    await scene.routed();
    await commitOffsets(
      kafka,
      Array.from({ length: groups }, (_, n) => ({ groupId: `${prefix}-${n}`, topic, offset: 1 })),
    );
    proxy.hold(apiKeys.offsetFetch);
    const before = proxy.requests(apiKeys.offsetFetch);
    const first = await Promise.all(Array.from({ length: 50 }, () => readOverHttp(service, "t0")));
    for (const { observed, notes } of first) {
      assert.deepEqual([observed.asOf, observed.reading, observed.groups], [null, true, []]);
      assert.match(notes[0] ?? "", /read for the first time/);
    }
    proxy.release();
    const { observed } = await waitForGroups(service, "t0");
    assert.equal(observed.groups.length, groups);
    assert.ok(observed.groups.every(({ state, members }) => state === "stopped" && members?.length === 0));
    const all = (await admin.listGroups()).groups.length;
    // The router looks its own offsets up, too.
    assert.ok(proxy.requests(apiKeys.offsetFetch) - before <= all + 5);
  });

  it("share an egress topic, which is said", async () => {
    const scene = routerScene();
    await scene.createTopics();
    await scene.start();
    await scene.send(defineTopic("one", ""), defineTopic("two", ""));
    await scene.stored(2);
    await commitOffsets(kafka, [{ groupId: `${scene.egress}-group`, topic: scene.egress, offset: 0 }]);
    const views = await readByCommand(scene);
    assert.deepEqual(
      views.map(({ externalId, sharedBy, observed }) => [externalId, sharedBy, observed.groups.length]),
      [["one", "all", 1]],
    );
    const [two] = await readByCommand(scene, "two");
    assert.match(two?.notes.at(-1) ?? "", /has the events of all topics/);
    const unknown = await scene.cli("topics", "consumers", "three");
    assert.equal(unknown.code, 1);
  });

  it("are unknown while Kafka is away, which is said", async () => {
    const proxy = await startKafkaProxy(stack.kafka);
    const { service } = await createScene(1, { KAFKA_BROKERS: proxy.address });
    proxy.cut();
    const view = await until("the problem is known", async () => {
      const found = await readOverHttp(service, "t0");
      return found.observed.problems.length > 0 && found;
    });
    assert.match(view.observed.problems[0] ?? "", /^the consumer groups: Kafka does not respond/);
    assert.equal(view.observed.asOf, null);
  });
});
