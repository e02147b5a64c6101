/** Details are apart from the topics: the sync and the picker do not notice them, and they outlive topics. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Document } from "mongodb";

import { createTopicDetailsStore } from "../../../src/storage/topics/details.ts";
import { createTopicReader } from "../../../src/storage/topics/reader.ts";
import { toDetails } from "../../../src/topics/details/details.ts";
import { replaceDetails } from "../../../src/topics/details/service.ts";
import { getPort } from "../../support/local.ts";
import { allowAll } from "../../support/allow-all.ts";
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
const database = await connect(own.uri);
const topicDetails = createTopicDetailsStore(database, { historyRetentionDays: undefined });
const stores = { topicReader: createTopicReader(database), topicDetails };
let synced: TestService;

/** Describes a topic as another instance would. */
async function describeTopic(externalId: string, owner: string): Promise<void> {
  const [current] = await topicDetails.find([externalId]);
  const version = current?.version ?? 0;
  await replaceDetails(stores, {
    externalId,
    details: toDetails({ owner }),
    version,
    user: "ann",
    canSee: () => true,
    check: allowAll,
  });
}

before(async () => {
  await own.createTopic(1, { "cleanup.policy": "compact" });
  synced = await own.start({ MONGODB_URI: proxy.uri(own.db.databaseName) });
});

const topicCount = 50;
const getDetails = async (id: string) => {
  const { json } = await call(`${synced.url}/api/topicsync/v1/topics/${id}`, { method: "GET" });
  return json.details as { owner: string; version: number };
};

describe("editing the details of many topics", () => {
  it("causes no retry in a sync that runs at the same time", async () => {
    // The first changes of known topics conflict with what the sync expects, with or without details.
    for (const name of ["New", "Changed", "Known"]) {
      await own.announce(0, topicCount, name);
      await own.caughtUp();
    }
    commands.length = 0;
    const names = ["Second", "Third", "Fourth"];
    const editing = (async () => {
      for (const owner of names)
        for (let i = 0; i < topicCount; i += 1) await describeTopic(`id-${i}`, owner);
    })();
    for (const name of names) {
      await own.announce(0, topicCount, name);
      await own.caughtUp();
    }
    await editing;
    await own.inStep();
    assert.ok(commands.some((command) => "commitTransaction" in command));
    assert.ok(!commands.some((command) => "abortTransaction" in command));
    assert.deepEqual(
      synced.log.filter(({ level }) => level >= 40),
      [],
    );
  });

  it("causes no read in the picker", async () => {
    await until("the topics for picking are loaded", async () => {
      const picked = await call(`${synced.url}/api/svc_api_notif_mgmt/topic/pick`, { body: { event: {} } });
      return picked.status === 200;
    });
    const described = Array.from({ length: topicCount }, (_, i) => `id-${i}`);
    commands.length = 0;
    for (const id of described) await describeTopic(id, "team");
    // Once a later change of a topic has arrived, those before it would have arrived as well.
    const namespace = "moved";
    await own.topics.updateOne({ topic_id: "id-7" }, { $set: { namespace } });
    const listReads = (): string[] =>
      commands
        .filter(({ find }) => find === "svc_api_notif_mgmt_topic")
        .flatMap(({ filter }) => (filter as { topic_id?: { $in: string[] } }).topic_id?.$in ?? [])
        .filter((id) => described.includes(id));
    await until("the change arrives", () => listReads().length > 0);
    assert.deepEqual(listReads(), ["id-7"]);
  });
});

describe("details", () => {
  it("survive a tombstone, and the next announcement of the topic", async () => {
    await own.announce(400, 401);
    await own.caughtUp();
    await describeTopic("id-400", "team-noc");
    await own.retire(400, 401);
    await own.caughtUp();
    const { json } = await call(`${synced.url}/api/topicsync/v1/topics?state=retired&owner=team-noc`, {
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
