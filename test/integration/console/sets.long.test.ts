import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { TopicRecord } from "../../../src/storage/topics/records.ts";
import { assertAccessible, assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { useFolder } from "../../support/folder.ts";
import { call } from "../../support/http.ts";
import { useService } from "../../support/scene.ts";
import { runCli } from "../../support/service.ts";

const service = useService();
const folder = useFolder();
const { openConsole } = useConsole(() => service.url);
const topics = service.db.collection<TopicRecord>("svc_api_notif_mgmt_topic");

const toFile = (severity: string): string =>
  JSON.stringify({
    set: "assurance",
    defaults: { namespace: "assurance", owner: "team-noc" },
    topics: [
      {
        ...{ externalId: "tickets-critical", name: "Critical tickets", tags: ["p1"], protected: true },
        ...{ headerQuery: "eventType=TroubleTicketCreateEvent", contentQuery: `severity=${severity}` },
      },
      { externalId: "tickets-gold", name: "Gold tickets", contentQuery: "customer.tier=gold" },
    ],
  });

async function apply(severity: string, revision: string): Promise<void> {
  const file = folder.createFile("assurance.yaml", toFile(severity));
  const { code, errors } = await runCli(
    ["topics", "apply", file, "--yes", "--origin", "git.example.org/noc"],
    {
      ...service.settings,
      GITHUB_SHA: revision,
    },
  );
  assert.equal(code, 0, errors);
}

service.prepare(async () => {
  await apply("Critical", "3f2a91c");
  await apply("Critical,Major", "8be0d12");
  // The folder of this test is not in a repository.
  const details = service.db.collection("topicsync_topic_details");
  await details.updateMany({}, { $set: { path: "topics/assurance.yaml" } });
});

describe("the pages of sets", () => {
  it("list the sets with their last apply, and show the topics of one with what was changed since", async () => {
    const page = await openConsole("Topics");
    await page.getByRole("link", { name: "Sets" }).click();
    await page.getByRole("row", { name: /^assurance git\.example\.org\/noc .* 8be0d12 1$/ }).waitFor();
    await page.getByRole("link", { name: "assurance" }).click();
    const members = page.getByRole("region", { name: "Topics of the set" });
    await members.getByRole("row", { name: /^Critical tickets .*assurance\.yaml unchanged$/ }).waitFor();
    const applies = page.getByRole("region", { name: "Applies", exact: true });
    await applies.getByRole("row", { name: /3f2a91c 2/ }).waitFor();
    await assertAccessible(page);
    await topics.updateOne({ topic_id: "tickets-gold" }, { $set: { version: 2 } });
    await page.reload();
    await members.getByText(/changed by .*: version 2, and version 1 was applied/).waitFor();
  });

  it("change a topic of a set only if that is forced", async () => {
    const page = await openConsole("Topics");
    await page.getByRole("link", { name: "Critical tickets" }).click();
    await page.getByRole("link", { name: "Change" }).click();
    await page.getByRole("button", { name: /^Test with the last/ }).waitFor();
    await page.getByText("This topic belongs to the set assurance.").waitFor();
    await page.getByLabel("Name", { exact: true }).fill("Critical and major tickets");
    const save = page.getByRole("button", { name: "Save as version 3" });
    assert.equal(await save.isDisabled(), true);
    await assertAccessible(page);
    await page.getByLabel("Change it here anyway").check();
    await save.click();
    await page.getByText("Version 3 is stored.").waitFor();
    await page.getByRole("link", { name: "Overview" }).first().waitFor();
    const { json } = await call(`${service.url}/api/topicsync/v1/topics/tickets-critical`, { method: "GET" });
    assert.deepEqual([json.name, json.version], ["Critical and major tickets", 3]);
  });

  it("are accessible", async () => {
    const page = await openConsole("Topics", viewports.narrow);
    await page.getByRole("link", { name: "Sets" }).click();
    await page.getByRole("row", { name: /assurance/ }).waitFor();
    await assertAllLooks(page, "sets");
    await page.getByRole("link", { name: "assurance" }).click();
    await page.getByRole("region", { name: "Applies", exact: true }).waitFor();
    await page.getByRole("region", { name: "Topics of the set" }).waitFor();
    await assertAllLooks(page, "set");
    await page.getByRole("link", { name: "Critical and major tickets" }).click();
    await page.getByRole("link", { name: "Change" }).click();
    await page.getByText("This topic belongs to the set assurance.").waitFor();
    await assertAllLooks(page, "topic-managed");
  });
});
