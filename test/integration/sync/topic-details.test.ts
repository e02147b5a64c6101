/** Details are apart from the topics: the sync and the picker do not notice them, and they outlive topics. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Document } from "mongodb";

import { createTopicDetailsStore } from "../../../src/storage/topic-details.ts";
import { createTopicReader } from "../../../src/storage/topic-reader.ts";
import { toDetails } from "../../../src/topics/details.ts";
import { createDetailsService } from "../../../src/topics/details-service.ts";
import { getPort } from "../../unit/embedded/local.ts";
import { connectDatabase } from "../../support/database.ts";
import { call } from "../../support/http.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";
import type { TestService } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const { scene } = stage();
const own = scene();
/** What the service sends to MongoDB. */
const commands: Document[] = [];
const proxy = await startMongoProxy(getPort(sharedStack().mongodb), {
  onCommand: (command) => void commands.push(command),
});
const { connect } = await connectDatabase();
let service: TestService;

/** Describes topics as another instance would. */
let describeTopic: (externalId: string, owner: string) => Promise<void>;

before(async () => {
  await own.createTopic();
  service = await own.start({ MONGODB_URI: proxy.uri(own.db.databaseName) });
  const database = await connect(own.uri);
  const topicDetails = createTopicDetailsStore(database);
  const details = createDetailsService({ topicReader: createTopicReader(database), topicDetails });
  describeTopic = async (externalId, owner) => {
    const [current] = await topicDetails.find([externalId]);
    const version = current?.version ?? 0;
    await details.replace({ externalId, details: toDetails({ owner }), version, user: "ann" });
  };
});

const count = (meets: (command: Document) => boolean): number => commands.filter(meets).length;
const isAbort = (command: Document): boolean => "abortTransaction" in command;
const readsTopics = ({ find }: Document): boolean => find === "svc_api_notif_mgmt_topic";

const pick = async (resource: string): Promise<string[]> => {
  const body = { event: { resource: { id: resource } }, eventType: "ResourceCreateEvent" };
  const { json, text } = await call(`${service.url}/api/svc_api_notif_mgmt/topic/pick`, { body });
  assert.ok(Array.isArray(json.topics), text);
  return json.topics.map(({ externalId }: { externalId: string }) => externalId);
};

const getDetails = async (id: string) => {
  const { json } = await call(`${service.url}/api/topicsync/v1/topics/${id}`, { method: "GET" });
  return json.details as { owner: string; version: number };
};

describe("editing the details of many topics", () => {
  it("causes no retry in a sync that runs at the same time", async () => {
    await own.announce(0, 200, "First");
    await own.caughtUp();
    let round = 0;
    const editing = new AbortController();
    const edited = (async () => {
      for (; !editing.signal.aborted; round += 1)
        for (let i = 0; i < 200 && !editing.signal.aborted; i += 10)
          await Promise.all(
            Array.from({ length: 10 }, (_, n) => describeTopic(`id-${i + n}`, `owner ${round}`)),
          );
    })();
    for (const name of ["Second", "Third", "Fourth"]) {
      await own.announce(0, 200, name);
      await own.caughtUp();
    }
    await until("every topic is described", () => round > 0);
    editing.abort();
    await edited;
    await own.inStep();
    assert.equal(count(isAbort), 0);
    assert.deepEqual(
      service.log.filter(({ level }) => level >= 40),
      [],
    );
  });

  it("causes no read in the picker", async () => {
    await own.announce(300, 301);
    await until("the topic is picked", async () => (await pick("id-300")).includes("id-300"));
    const before = count(readsTopics);
    for (let i = 0; i < 200; i += 1) await describeTopic(`id-${i}`, "team");
    assert.equal((await getDetails("id-199")).owner, "team");
    const byRequest = count(readsTopics) - before;
    // A later change of a topic has arrived, so the changes before it would have arrived as well.
    await own.topics.updateOne(
      { topic_id: "id-7" },
      { $set: { namespace: "moved", sys_updated_on: new Date() } },
    );
    await until("the change arrives", () => count(readsTopics) > before + byRequest);
    const reads = commands.filter(readsTopics).slice(before + byRequest);
    assert.deepEqual(
      reads.map(({ filter }) => (filter as { topic_id?: { $in: string[] } }).topic_id?.$in),
      [["id-7"]],
    );
    assert.ok(byRequest <= 2, "only the request for one topic reads it");
  });
});

describe("details", () => {
  it("survive a tombstone, and the next announcement of the topic", async () => {
    await own.announce(400, 401);
    await own.caughtUp();
    await describeTopic("id-400", "team-noc");
    await own.retire(400, 401);
    await own.caughtUp();
    const { json } = await call(`${service.url}/api/topicsync/v1/topics?state=retired&owner=team-noc`, {
      method: "GET",
    });
    assert.deepEqual(
      json.topics.map(({ externalId }: { externalId: string }) => externalId),
      ["id-400"],
    );
    assert.deepEqual((await getDetails("id-400")).owner, "team-noc");
    await own.announce(400, 401, "Again");
    await own.caughtUp();
    const { owner, version } = await getDetails("id-400");
    assert.deepEqual([owner, version], ["team-noc", 1]);
  });
});
