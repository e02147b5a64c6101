/** No response grows without a limit, however many and however large the stored records are. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { TopicRecord } from "../../../src/storage/topics/records.ts";
import { call, type HttpResponse } from "../../support/http.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { startOwnStore } from "../../support/own-stack.ts";
import { useService } from "../../support/scene.ts";
import { sharedStack } from "../../support/stack.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

// A store that other files keep busy may need more than the time limit of a page for these.
const store = await startOwnStore();
const service = useService({}, { ...sharedStack(), mongodb: store.address });
const topics = service.db.collection<TopicRecord>("svc_api_notif_mgmt_topic");
const installations = service.db.collection<InstallationRecord>("sys_push_notif_app_install");

const toIds = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}-${String(i).padStart(4, "0")}`);
const many = toIds("many", 1_100);
const large = toIds("large", 110);
const tokens = toIds("token", 250);
/** A page ends after the 100 records with which it reaches 4 MiB. */
const maxPageLength = 6_000_000;

/** Reads all pages; asserts the size of each. */
async function readPages(path: string, member: string): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let after: string | null = "";
  let pages = 0;
  for (; after !== null; pages += 1) {
    const query: string = after === "" ? "" : `&after=${encodeURIComponent(after)}`;
    const { status, text, json }: HttpResponse = await call(`${service.url}${path}${query}`, {
      method: "GET",
    });
    assert.equal(status, 200, text.slice(0, 300));
    assert.ok(text.length < maxPageLength, `a page of ${text.length} characters`);
    const found = json[member] as { externalId?: string; token?: string }[];
    ids.push(...found.map(({ externalId, token }) => externalId ?? token ?? ""));
    after = json.next;
  }
  return { ids, pages };
}

describe("large records", () => {
  before(async () => {
    const define = (externalId: string, headerQuery: string) =>
      createTopicRecord({ externalId, headerQuery });
    // The latest first, so that the order of the response is not that of insertion.
    await topics.insertMany(many.toReversed().map((id) => define(id, "eventType=Many")));
    await topics.insertMany(
      large.map((id) => ({ ...define(id, "eventType=Large"), topic_name: id.padEnd(50_000, "x") })),
    );
    await installations.insertMany(
      tokens.map((token) => installation(token, { _id: token, deactivated_reason: "x".repeat(25_000) })),
    );
  });

  describe("a list of large records", () => {
    it("has shorter pages, which together have each topic once", async () => {
      const { ids, pages } = await readPages("/api/topicsync/v1/topics?limit=999", "topics");
      assert.deepEqual(ids, [...large, ...many]);
      assert.ok(pages > 2, "two pages of 999 would be enough for their number");
    });

    it("has shorter pages, which together have each installation once", async () => {
      const path = "/api/topicsync/v1/installations?limit=1000&fullTokens=true";
      const { ids, pages } = await readPages(path, "installations");
      assert.deepEqual(ids, tokens);
      assert.ok(pages > 1);
    });
  });

  describe("the topics of an event", () => {
    const pick = async (eventType: string): Promise<{ total: number; ids: string[]; length: number }> => {
      const { status, json, text } = await call(`${service.url}/api/svc_api_notif_mgmt/topic/pick`, {
        body: { eventType },
      });
      assert.equal(status, 200, text);
      const ids = (json.topics as { externalId: string }[]).map(({ externalId }) => externalId);
      return { total: json.total, ids, length: text.length };
    };

    it("are the first thousand, with the number of all", async () => {
      const { total, ids } = await pick("Many");
      assert.equal(total, many.length);
      assert.deepEqual(ids, many.slice(0, 1_000));
    });

    it("are fewer if they are large", async () => {
      const { total, ids, length } = await pick("Large");
      assert.equal(total, large.length);
      assert.ok(length < maxPageLength && ids.length < large.length);
      assert.deepEqual(ids, large.slice(0, ids.length));
    });
  });
});
