/** The router follows topics that are changed over HTTP, and the history says what it used. */
import assert from "node:assert/strict";
import { it } from "node:test";

import { useFolder } from "../../support/folder.ts";
import { call } from "../../support/http.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, getText, routerStage } from "../../support/router-scene.ts";
import { runJson } from "../../support/service.ts";

const { routerScene } = routerStage();
const folder = useFolder();

it("forwards events by the version of a topic that is in force, which can be picked from later", async () => {
  const scene = routerScene();
  await scene.createTopic();
  await scene.createTopics();
  const first = await scene.start();
  const second = await scene.start();
  const change = async (version: number, eventType: string, externalId = "changed"): Promise<void> => {
    const { status, text } = await call(`${second.url}/api/topicsync/v1/topics/changed`, {
      method: "PUT",
      headers: { "If-Match": `"${version}"` },
      body: defineTopic(externalId, `eventType=${eventType}`),
    });
    assert.equal(status, 200, text);
  };
  await scene.post(first, defineTopic("changed", "eventType=Version1"));

  /** Sends an event again and again until it is forwarded. Returns a time at which it is. */
  async function waitUntilForwarded(eventType: string, externalId: string): Promise<string> {
    await until(`${eventType} is forwarded to ${externalId}`, async () => {
      await scene.produce({ value: createEvent(eventType) });
      await scene.routed();
      const copies = await scene.readAll(scene.egress);
      return copies.some(
        (copy) =>
          getText(copy, "topicsync.topic") === externalId && String(copy.value).includes(`"${eventType}"`),
      );
    });
    return new Date().toISOString();
  }

  const moments: { readonly at: string; readonly version: number; readonly externalId: string }[] = [];
  for (let version = 1; version <= 4; version += 1) {
    const at = await waitUntilForwarded(`Version${version}`, "changed");
    moments.push({ at, version, externalId: "changed" });
    await change(version, `Version${version + 1}`, version === 4 ? "renamed" : "changed");
  }
  moments.push({ at: await waitUntilForwarded("Version5", "renamed"), version: 5, externalId: "renamed" });

  // What was forwarded at a time matches the topic as it was.
  for (const { at, version, externalId } of moments) {
    const event = folder.createFile(`event ${version}`, JSON.stringify(createEvent(`Version${version}`)));
    const picked = await runJson(["pick", event, "--at", at, "--explain", externalId], scene.settings);
    const { explain } = picked as { explain: { matches: boolean; version: number } };
    assert.deepEqual([explain.matches, explain.version], [true, version]);
  }

  // A former version gets nothing any more, under neither external id.
  const before = (await scene.readAll(scene.egress)).length;
  await scene.produce({ value: createEvent("Version1") }, { value: createEvent("Version4") });
  await scene.routed();
  assert.equal((await scene.readAll(scene.egress)).length, before);
});
