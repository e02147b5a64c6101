import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { BrowserContextOptions, Page } from "playwright-core";

import type { DetailsRecord } from "../../../src/storage/topics/details-records.ts";
import {
  toRetiredRecord,
  type RetiredRecord,
  type TopicRecord,
} from "../../../src/storage/topics/records.ts";
import type { Source } from "../../../src/topics/topic.ts";
import { assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { call } from "../../support/http.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { createTopicRecord } from "../../support/topic-record.ts";

const service = useService();
const { openConsole } = useConsole(() => service.url);
const topics = service.db.collection<TopicRecord>("svc_api_notif_mgmt_topic");
const retired = service.db.collection<RetiredRecord>("svc_api_notif_mgmt_topic_retired");

const announcedSource = (offset: number): Source => ({
  ...{ kind: "announcement", topic: "topicsync.announcements", partition: 2, offset },
});
const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
const places = ["Aarau", "Basel", "Chur", "Davos", "Genf", "Bern"];

/** 66 topics, more than fit on a page. The first one has a previous definition. */
const stored = Array.from({ length: 66 }, (_, i): TopicRecord => {
  const place = places[i % places.length] ?? "";
  const number = String(i).padStart(3, "0");
  return {
    ...createTopicRecord({
      externalId: `ticket-${number}`,
      headerQuery: "eventType=TroubleTicketCreateEvent",
      contentQuery: `troubleTicket.severity=Critical,Major&troubleTicket.place=${place}%20${number}`,
    }),
    topic_name: `Tickets of ${place} ${number}`,
    namespace: i % 3 === 0 ? "assurance" : "inventory",
    source: announcedSource(4_000 + i),
    sys_created_on: hoursAgo(900),
    sys_updated_on: hoursAgo(i + 1),
  };
});

/** Topics of one place belong to a team of their own, which has deprecated its first one. */
const described = stored.map(({ topic_id, topic_name, namespace }, i): DetailsRecord => ({
  ...{ _id: topic_id, version: 1, namespace },
  owner: topic_name.includes("Aarau") ? "team-noc" : "team-field",
  tags: i % 2 === 0 ? ["network", "p1"] : ["field"],
  lifecycle: i === 0 ? "deprecated" : "active",
  words: topic_name.toLowerCase().split(" "),
  ...{ changed_on: hoursAgo(2), changed_by: "anna" },
}));

service.prepare(async () => {
  await service.db.collection<DetailsRecord>("topicsync_topic_details").insertMany(described);
  const used = stored.map(({ topic_id }, i) => ({
    ...{ _id: topic_id, last_on: new Date(Date.now() - (i + 1) ** 2 * 60_000), events: 1 },
  }));
  await service.db.collection<{ _id: string }>("topicsync_topic_usage").insertMany(used);
  const [first, ...others] = stored;
  assert.ok(first);
  const { topic_name, namespace, header_query } = first;
  const previous = {
    ...{ topic_name, namespace, header_query, content_query: "troubleTicket.severity=Critical" },
    ...{ source: announcedSource(17), sys_updated_on: hoursAgo(900) },
  };
  await topics.insertMany([{ ...first, previous }, ...others]);
  await retired.insertOne({
    _id: "topicsync.announcements-2-9",
    ...toRetiredRecord({
      topic: {
        ...{ id: "f".repeat(32), externalId: "alarm-1", name: "Alarms", namespace: "", headerQuery: "" },
        ...{
          contentQuery: "",
          version: 1,
          source: announcedSource(3),
          createdOn: hoursAgo(80),
          updatedOn: hoursAgo(80),
        },
      },
      retiredOn: hoursAgo(30),
      retiredBy: announcedSource(9),
    }),
  });
});

async function openTopics(options?: BrowserContextOptions): Promise<Page> {
  const page = await openConsole("Topics", options);
  await page.getByRole("row", { name: "ticket-000" }).waitFor();
  return page;
}

describe("the topic pages", () => {
  it("page through the topics and search by prefix; the search is part of the URL", async () => {
    const page = await openTopics();
    assert.equal(await page.getByRole("row").count(), 51);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("row", { name: "ticket-064" }).waitFor();
    await page.getByText("Page 2").waitFor();

    await page.getByLabel("Search").fill("Tickets of Bern 06");
    await page.getByRole("row", { name: "ticket-065" }).waitFor();
    await until("there is one match", async () => (await page.getByRole("row").count()) === 2);
    assert.match(page.url(), /\/console\/topics\?q=Tickets\+of\+Bern\+06$/);
    await page.reload();
    await page.getByRole("row", { name: "ticket-065" }).waitFor();
    assert.equal(await page.getByLabel("Search").inputValue(), "Tickets of Bern 06");

    await page.getByLabel("Search").fill("nothing like it");
    await page.getByText("No topics match.").waitFor();
    await page.getByRole("link", { name: "Show all topics" }).click();
    await page.getByText("More filters").click();
    await page.getByLabel("Order").selectOption("External id, descending");
    await page.getByRole("row").nth(1).getByText("ticket-065").waitFor();
    await page.getByRole("combobox", { name: "State" }).selectOption("Retired");
    await page.getByRole("link", { name: "Alarms" }).click();
    await page.getByText("No event matches this topic: it was retired").waitFor();
  });

  it("open and save topics whose external ids cannot be part of a path", async () => {
    for (const externalId of [".", "é/".repeat(500)]) {
      const name = `Odd ${externalId.length}`;
      const body = { externalId, name };
      assert.equal((await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body })).status, 201);
      const page = await openConsole("Topics");
      await page.getByLabel("Search").fill(name);
      await page.getByRole("link", { name }).click();
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      await page.getByRole("link", { name: "Change" }).click();
      await page.getByLabel("Name", { exact: true }).fill(`${name} changed`);
      await page.getByRole("button", { name: "Save as version 2" }).click();
      await page.getByText("Version 2 is stored.").waitFor();
      await page.getByRole("link", { name: "History" }).click();
      await page.getByText(name, { exact: false }).first().waitFor();
      await page.goBack();
      await topics.deleteOne({ topic_id: externalId });
    }
  });

  it("filter by owner, tag and lifecycle", async () => {
    const page = await openTopics();
    await page.getByLabel("Owner").fill("team-noc");
    await until("only theirs are listed", async () => (await page.getByRole("row").count()) === 12);
    await page.getByLabel("Tag").fill("field");
    await page.getByText("No topics match.").waitFor();
    await page.getByLabel("Tag").fill("network");
    await page
      .getByRole("row", { name: /ticket-000 .*network p1 \d+ minutes? ago/ })
      .getByText("deprecated")
      .waitFor();
    await page.getByText("More filters").click();
    await page.getByLabel("Lifecycle").selectOption("Deprecated");
    await until("one is deprecated", async () => (await page.getByRole("row").count()) === 2);
    assert.equal(new URL(page.url()).search, "?owner=team-noc&tag=network&lifecycle=deprecated");
    await page.reload();
    assert.equal(await page.getByLabel("Lifecycle").inputValue(), "deprecated");
  });

  it("apply a choice that follows a link at once to what the link shows", async () => {
    const page = await openTopics();
    await page.getByLabel("Search").fill("nothing like it");
    await page.getByText("No topics match.").waitFor();
    // Chooses as soon as the field is there: before the browser paints it.
    await page.evaluate(`new MutationObserver((_, observer) => {
      const order = document.querySelector('select:has(option[value="-externalId"])');
      if (order === null) return;
      observer.disconnect();
      order.value = "-externalId";
      order.dispatchEvent(new Event("change", { bubbles: true }));
    }).observe(document.body, { childList: true, subtree: true })`);
    await page.getByRole("link", { name: "Show all topics" }).click();
    await page.getByRole("row").nth(1).getByText("ticket-065").waitFor();
    assert.match(page.url(), /\/console\/topics\?sort=-externalId$/);
  });

  it("explain a topic with its filters and its source", async () => {
    const page = await openTopics();
    await page.getByRole("link", { name: "Tickets of Aarau 000" }).click();
    await page.getByText('troubleTicket.severity is "Critical" or "Major"').waitFor();
    await page.getByText("No counts are stored yet: a router stores them within ten minutes.").waitFor();
    await page.getByRole("link", { name: "Change" }).click();
    await page.getByRole("button", { name: /^Test with the last/ }).waitFor();
    await page.getByRole("navigation", { name: "Parts of the topic" }).getByText("Overview").click();
    await page.getByText("by an announcement in topicsync.announcements, partition 2, offset 4000").waitFor();
    // Announced topics cannot be disabled.
    assert.equal(await page.getByRole("button", { name: "Disable" }).count(), 0);
    await page.getByRole("link", { name: "Try an event in the picker" }).click();
    assert.equal(await page.getByLabel("Why does a topic not match?").inputValue(), "ticket-000");
  });

  it("disable a topic that was created by hand after confirmation, and enable it", async () => {
    const body = { name: "By hand", externalId: "50% / by hand?" };
    assert.equal((await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body })).status, 201);
    const page = await openTopics();
    await page.getByRole("link", { name: "By hand" }).click();
    await page.getByText("Nobody has described this topic yet").waitFor();
    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
    await page.getByText("Disabled", { exact: true }).waitFor();
    // The URL encodes any external id.
    await page.reload();
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Enable" }).click();
    await page.getByText("Active", { exact: true }).waitFor();
    await topics.deleteOne({ topic_id: body.externalId });
  });

  it("create a topic, showing each fault while typing, with the caret at its position", async () => {
    const page = await openTopics();
    await page.getByRole("link", { name: "Create a topic" }).click();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("Enter a name.").waitFor();
    assert.equal(await getFocusedName(page), "name");
    await page.getByLabel("Name", { exact: true }).fill("Created here");
    await page.getByLabel("External id").fill("ticket-000");
    await page.getByText("It already belongs to another topic").waitFor();
    await page.getByLabel("External id").fill("created-here");
    await page.getByText("It already belongs to another topic").waitFor({ state: "detached" });

    const content = page.getByLabel("Content query");
    await content.fill("troubleTicket.severity=Critical&&a=1");
    await page.getByText("has no condition here").waitFor();
    await page.getByRole("button", { name: "Create" }).click();
    assert.equal(await getFocusedName(page), "contentQuery");
    const caret = await page.evaluate<number>("document.activeElement.selectionStart");
    // After the first "&", where a condition is missing.
    assert.equal(caret, "troubleTicket.severity=Critical&".length);
    await content.fill("troubleTicket.severity=Critical");
    await page.getByText('Matches if troubleTicket.severity is "Critical".').waitFor();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("Active", { exact: true }).waitFor();
    assert.match(page.url(), /\/console\/topics\/created-here$/);
    await topics.deleteOne({ topic_id: "created-here" });
  });

  it("are accessible", async () => {
    const page = await openTopics(viewports.narrow);
    await page.getByLabel("Search").fill("aarau tick");
    await until("only matches are listed", async () => (await page.getByRole("row").count()) === 12);
    await assertAllLooks(page, "topics");
    await page.getByRole("link", { name: "Tickets of Aarau 000" }).click();
    await page.getByRole("link", { name: "All topics" }).click();
    await page.getByRole("link", { name: "Create a topic" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Critical tickets");
    await page.getByLabel("Header query").fill("eventType=TroubleTicketCreateEvent");
    await page.getByLabel("Content query").fill("troubleTicket.severity=Critical,Major&=assurance");
    await page.getByText("has no name before the operator").waitFor();
    await assertAllLooks(page, "topic-create");
  });
});

const getFocusedName = (page: Page): Promise<string> => page.evaluate<string>("document.activeElement.name");
