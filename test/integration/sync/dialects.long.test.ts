import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { PickResponse } from "../../../schemas/pick.ts";
import { getPort } from "../../support/local.ts";
import { call } from "../../support/http.ts";
import { dialects, type Dialect } from "../../support/mongo-dialects.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { definition, stage } from "../../support/scene.ts";
import type { TestService } from "../../support/service.ts";

const { stack, scene } = stage();
const products = await Promise.all(
  Object.entries<Dialect>(dialects).map(async ([name, dialect]) => ({
    name,
    dialect,
    proxy: await startMongoProxy(getPort(stack.mongodb), { dialect }),
  })),
);

const hasLogged = ({ log }: TestService, words: string): boolean =>
  log.some(({ msg = "" }) => msg.startsWith(words));

describe("topicsync on another product", () => {
  for (const { name, dialect, proxy } of products) {
    describe(name, () => {
      const own = scene({ PUSH_APPLICATIONS: "agent", PUSH_PLATFORMS: "ios" });
      const settings = {
        MONGODB_URI: proxy.uri(own.db.databaseName),
      };
      const installations = own.db.collection("sys_push_notif_app_install");
      const [a, b, c] = [definition("a"), definition("b"), definition("c")];
      const renamed = { ...a, name: "Renamed" };
      let service: TestService;

      /** The stored topics by external id: name and sys_id. */
      const stored = async (): Promise<Record<string, [string, string]>> =>
        Object.fromEntries(
          (await own.topics.find({}).sort({ topic_id: 1 }).toArray()).map((record) => [
            record.topic_id,
            [record.topic_name, String(record._id)],
          ]),
        );

      before(async () => {
        await own.createTopic();
        service = await own.start(settings);
      });

      it("applies announcements, also of existing topics, and rejects an existing combination", async () => {
        await own.send(a, b, c);
        await own.reached(3);
        // Each in its own batch: a batch looks up topics only after a unique index rejected a write.
        for (const [at, one] of [a, renamed, { ...b, externalId: "other" }, "c", c].entries()) {
          await own.send(one);
          await own.reached(at + 4);
        }
        const names = Object.entries(await stored()).map(([id, [topicName]]) => [id, topicName]);
        assert.deepEqual(names, [
          ["a", renamed.name],
          ["b", b.name],
          ["c", c.name],
        ]);
        assert.equal(await own.deadLetters(), 1);
        assert.equal(await own.retired.countDocuments(), 1);
      });

      it("creates a topic over HTTP, and reports duplicates", async () => {
        const url = `${service.url}/api/svc_api_notif_mgmt/topic`;
        const created = await call(url, { body: definition("by-hand") });
        assert.equal(created.status, 201, created.text);
        const rejected = await call(url, { body: { ...b, externalId: "a" } });
        assert.equal(rejected.status, 400, rejected.text);
        assert.deepEqual(
          rejected.json.error.details.map(({ path }: { path: string }) => path),
          ["/externalId", ""],
        );
      });

      it("disables a topic and enables it again", async () => {
        const url = `${service.url}/api/topicsync/v1/topics/by-hand`;
        for (const what of ["disable", "enable"]) {
          const answer = await call(`${url}/${what}`);
          assert.equal(answer.status, 200, answer.text);
        }
        assert.equal(await own.topics.countDocuments({ topic_id: "by-hand" }), 1);
      });

      it("registers a token, moves it to another user, and removes it", async () => {
        const ann = { user: unique("ann"), password: "correct horse" };
        const users = `${service.url}/api/topicsync/v1/users`;
        const added = await call(users, { body: { name: ann.user, password: ann.password } });
        assert.equal(added.status, 201, added.text);
        const token = unique("token");
        const push = `${service.url}/api/now/push/agent`;
        for (const options of [{}, { as: ann }]) {
          const answer = await call(`${push}/installation`, { body: { platform: "ios", token }, ...options });
          assert.equal(answer.status, 200, answer.text);
        }
        const [record, ...others] = await installations.find({ token }).toArray();
        assert.deepEqual([record?.["user"], record?.["active"], others], [ann.user, true, []]);
        const removed = await call(`${push}/removeInstallation`, { body: { platform: "ios" }, as: ann });
        assert.equal(removed.status, 200, removed.text);
        assert.equal((await installations.findOne({ token }))?.["active"], false);
      });

      it("picks topics by the changes of another instance", async () => {
        const picks = async (id: string): Promise<string[]> => {
          const event = { eventType: "ResourceCreateEvent", event: { resource: { id } } };
          const answer = await call(`${service.url}/api/svc_api_notif_mgmt/topic/pick`, { body: event });
          return (answer.json as PickResponse).topics.map(({ externalId }) => externalId);
        };
        await until("the topics are loaded", async () => (await picks("b")).join() === "b");
        const change = { content_query: "resource.id=changed", sys_updated_on: new Date() };
        await own.topics.updateOne({ topic_id: "b" }, { $set: change });
        await until("the change is effective", async () => (await picks("changed")).join() === "b");
        assert.equal(hasLogged(service, "no change streams"), !dialect.hasChangeStreams);
        await own.topics.updateOne({ topic_id: "b" }, { $set: { content_query: b.contentQuery } });
      });

      it("changes nothing when the next process reads the log again", async () => {
        const before = await stored();
        assert.equal(await service.stop(), 0);
        await own.positions.updateOne({ _id: own.key }, { $set: { next_offset: 1 } });
        const next = await own.start(settings);
        await own.send(definition("d"));
        await own.reached(9);
        const { d, ...others } = await stored();
        assert.equal(d?.[0], definition("d").name);
        assert.deepEqual(others, before);
        assert.equal(await own.deadLetters(), 2);
        for (const one of [service, next]) {
          assert.equal(hasLogged(one, "this MongoDB has no transactions"), !dialect.hasTransactions);
          assert.deepEqual(
            one.log.filter(({ level }) => level >= 50),
            [],
          );
        }
        assert.equal(await next.stop(), 0);
      });
    });
  }
});
