import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Page } from "playwright-core";

import { assertAccessible, assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { createEvent, routerStage } from "../../support/router-scene.ts";
import { addUser, bootstrap, type TestService } from "../../support/service.ts";

const { routerScene } = routerStage();
const prefix = unique("to");
const own = routerScene({
  KAFKA_EGRESS_TOPIC: `${prefix}.{externalId}`,
  KAFKA_EGRESS_CREATE: "true",
});
let service: TestService;
const { openConsole, signIn } = useConsole(() => service.url);

const network = "tickets-critical-network";
const alarms = "alarms-power";
const headerQuery = "eventType=TroubleTicketCreateEvent";
const path = (externalId: string): string => `${service.url}/api/topicsync/v1/topics/${externalId}`;

const createDefinition = (contentQuery: string, name = "Critical network tickets") => ({
  ...{ externalId: network, name, namespace: "assurance", headerQuery, contentQuery },
});
const details = {
  owner: "team-noc",
  description: "Wakes the network operations centre.",
  contact: "noc@example.org",
  tags: ["network", "p1"],
  labels: { "cost-center": "4711" },
  consumers: [{ name: "noc-dashboard", contact: "dashboards@example.org" }],
};

/** 100 events of the last 100 minutes, of which 40 are critical and 30 are major. */
const createTickets = () =>
  Array.from({ length: 100 }, (_, i) => {
    const severity = i % 10 < 4 ? "Critical" : i % 10 < 7 ? "Major" : "Minor";
    return {
      value: createEvent("TroubleTicketCreateEvent", { troubleTicket: { severity } }),
      timestamp: String(Date.now() - (100 - i) * 60_000),
    };
  });

async function change(version: number, definition: object): Promise<void> {
  const headers = { "If-Match": `"${version}"` };
  const { status, text } = await call(path(network), { method: "PUT", body: definition, headers });
  assert.equal(status, 200, text);
}

/** What a router would have counted in 40 days. */
async function storeUsage(): Promise<void> {
  const usage = own.db.collection("topicsync_topic_usage");
  // Nothing is counted any more that would be added to them.
  await until("the events are counted", () => usage.findOne({ _id: network as never }));
  const lastOn = new Date(Date.now() - 180_000);
  await usage.updateOne({ _id: network as never }, { $set: { last_on: lastOn, events: 29_460 } });
  const since = new Date(Date.now() - 40 * 86_400_000);
  await usage.updateOne({ "_id.counting": "events" }, { $set: { since, until: new Date() } });
}

before(async () => {
  await own.createTopics(2);
  await own.createTopic();
  service = await own.start();
  await own.post(service, createDefinition("troubleTicket.severity=Critical", "Critical tickets"));
  await change(1, createDefinition("troubleTicket.severity=Critical"));
  await change(2, createDefinition("troubleTicket.severity=Critical,Warning"));
  await change(3, createDefinition("troubleTicket.severity=Critical"));
  const described = await call(`${path(network)}/details`, {
    ...{ method: "PUT", body: details, headers: { "If-Match": '"0"' } },
  });
  assert.equal(described.status, 200, described.text);
  await own.send({ ...createDefinition("", "Power alarms"), externalId: alarms });
  await own.stored(2);
  await own.produce(...createTickets());
  await own.routed();
  await storeUsage();
});

async function openTopic(tab?: string, options?: Parameters<typeof openConsole>[1]): Promise<Page> {
  const page = await openConsole("Topics", options);
  await page.getByRole("link", { name: "Critical network tickets" }).click();
  await page.getByRole("heading", { name: "Events of this topic" }).waitFor();
  if (tab !== undefined)
    await page
      .getByRole("navigation", { name: "Parts of the topic" })
      .getByRole("link", { name: tab })
      .click();
  return page;
}

describe("the page of a topic", () => {
  it("shows its events in words, how many there are, and what its team says", async () => {
    const page = await openTopic();
    await page.getByText('and troubleTicket.severity is "Critical"').waitFor();
    await page.getByText("29,460").waitFor();
    await page.getByText("Wakes the network operations centre.").waitFor();
    await page.getByRole("link", { name: "p1" }).click();
    await page.getByRole("row", { name: /Critical network tickets.*team-noc/ }).waitFor();
    assert.match(page.url(), /\/console\/topics\?tag=p1$/);
  });

  it("shows what a change does to events before it is saved", async () => {
    const page = await openTopic("Change");
    await page.getByText("The filters do not change.").waitFor();
    await page.getByLabel("Content query").fill("troubleTicket.severity=Critical,Major");
    await page.getByText("Every event that matched still matches").waitFor();
    await page.getByRole("button", { name: "Test with the last 20,000 events" }).click();
    await page.getByText("70 of 100 events match, instead of 40.").waitFor();
    await page.getByText('It has "Major", and does not meet the old').first().waitFor();
    await page.getByText(/About [\d,]+ more copies a day/).waitFor();
    await page.getByLabel("Content query").fill("troubleTicket.severity=Major");
    await page.getByText("You have changed the filters since this test.").waitFor();
    await page.getByText("Some events that matched no longer do, and others do.").waitFor();
  });

  it("counts the events of a topic before it is created", async () => {
    const page = await openConsole("Topics");
    await page.getByRole("link", { name: "Create a topic" }).click();
    await page.getByLabel("External id").fill("tickets-minor");
    await page.getByLabel("Content query").fill("troubleTicket.severity=Minor");
    await page.getByRole("button", { name: "Test with the last 20,000 events" }).click();
    await page.getByText(/^30 of 100 events match\./).waitFor();
    await page.getByLabel("Content query").fill("troubleTicket.severity=");
    await page.getByText("You have changed the filters since this test.").waitFor();
    await assertAccessible(page);
  });

  it("shows the progress of a test, which can be stopped", async () => {
    const page = await openTopic("Change");
    await page.route("**/api/topicsync/v1/impact", () => undefined);
    await page.getByRole("button", { name: "Test with the last 20,000 events" }).click();
    await page.getByRole("progressbar", { name: "Starting" }).waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Test with the last 20,000 events" }).waitFor();
  });

  it("says why a test failed", async () => {
    const page = await openTopic("Change");
    await page.route("**/api/topicsync/v1/impact", (route) =>
      route.fulfill({ contentType: "text/event-stream", body: 'data: {"done":5000,"total":20000}\n\n' }),
    );
    await page.getByRole("button", { name: "Test with the last 20,000 events" }).click();
    await page.getByText("The preview ended without a result.").waitFor();
    const busy = {
      message: "Another preview is running on this instance.",
      detail: "Try again in 5 seconds.",
    };
    await page.route("**/api/topicsync/v1/impact", (route) =>
      route.fulfill({
        status: 503,
        json: { status: "failure", error: { ...busy, code: "OVERLOADED", details: [] } },
      }),
    );
    await page.getByRole("button", { name: "Test with the last 20,000 events" }).click();
    await page.getByText(busy.message).waitFor();
    await assertAccessible(page);
  });

  it("keeps what was entered when somebody else is faster", async () => {
    const page = await openTopic("Change");
    await page.getByLabel("Content query").fill("troubleTicket.severity=Critical,Major");
    await change(4, createDefinition("troubleTicket.severity=Critical", "Renamed meanwhile"));
    await page.getByRole("button", { name: "Save as version 5" }).click();
    await page.getByRole("heading", { name: "Somebody else has changed this topic" }).waitFor();
    await page.getByText("Version 5 was stored").waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Continue from version 5" }).click();
    // What was not touched is theirs.
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Renamed meanwhile");
    await page.getByLabel("Name", { exact: true }).fill("Critical network tickets");
    await page.getByRole("button", { name: "Save as version 6" }).click();
    await page.getByText("Version 6 is stored.").waitFor();
    const { json } = await call(path(network), { method: "GET" });
    assert.deepEqual([json.contentQuery, json.version], ["troubleTicket.severity=Critical,Major", 6]);
  });

  it("shows every version with its change, compares two, and restores one", async () => {
    const page = await openTopic("History");
    await page.getByRole("heading", { name: "Version 1" }).waitFor();
    await page.getByRole("combobox", { name: "Compare" }).selectOption("Version 1");
    await page.getByRole("combobox", { name: "with" }).selectOption("Version 3");
    const comparison = page.getByRole("region", { name: "Compare versions" });
    await comparison.getByText("Every event that matched still matches").waitFor();
    assert.deepEqual(await comparison.locator("del, ins").allTextContents(), [
      ...["Critical tickets", "Critical network tickets", "Warning"],
    ]);
    await page.getByRole("button", { name: "Restore version 4" }).click();
    const dialog = page.getByRole("dialog", { name: "Restore version 4?" });
    await dialog.getByText("Some events that matched no longer do; no others do.").waitFor();
    await assertAccessible(page);
    await dialog.getByRole("button", { name: "Restore" }).click();
    await page.getByRole("heading", { name: "Version 7 current" }).waitFor();
    const { json } = await call(path(network), { method: "GET" });
    assert.equal(json.contentQuery, "troubleTicket.severity=Critical");
  });

  it("says how a topic of the channel is changed", async () => {
    const page = await openConsole("Topics");
    await page.getByRole("link", { name: "Power alarms" }).click();
    await page.getByRole("link", { name: "Change" }).click();
    await page.getByLabel("Content query").fill("alarm.perceivedSeverity=CRITICAL");
    const line = await page.getByLabel("Announcement").textContent();
    assert.equal(JSON.parse(line ?? "").contentQuery, "alarm.perceivedSeverity=CRITICAL");
    assert.equal(await page.getByRole("button", { name: /^Save/ }).count(), 0);
    await assertAccessible(page);
  });

  it("edits the details", async () => {
    const page = await openTopic();
    await page.getByRole("link", { name: "Edit details" }).click();
    await page.getByLabel("Tags").fill("network P2");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("/tags/1 must be lower-case letters").waitFor();
    await assertAccessible(page);
    await page.getByLabel("Tags").fill("network p1 p2");
    await page.getByLabel("Lifecycle").selectOption("Deprecated");
    await page.getByLabel("Sunset").fill("2027-01-01");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("It may be gone from 1 January 2027 on.").waitFor();
    await page.getByRole("link", { name: "p2" }).waitFor();
    const { json } = await call(path(network), { method: "GET" });
    const body = { ...details, lifecycle: "active" };
    const headers = { "If-Match": `"${json.details.version}"` };
    assert.equal((await call(`${path(network)}/details`, { method: "PUT", body, headers })).status, 200);
  });

  it("shows who changed the details, and how", async () => {
    const page = await openTopic("History");
    const entry = page.getByRole("listitem").filter({ hasText: "Details 2" });
    await entry.getByText(`Described by ${bootstrap.user}`).waitFor();
    assert.deepEqual(await entry.getByRole("term").allTextContents(), ["Tags", "Lifecycle", "Sunset"]);
    assert.ok(
      (await entry.getByRole("definition").allTextContents()).some((text) => text.includes("2027-01-01")),
    );
    await assertAccessible(page);
  });

  it("lets users without the right to change topics look only", async () => {
    const reader = { user: unique("reader"), password: "a reader's password" };
    await addUser(own.settings, reader.user, reader.password, "--role", "topics.read");
    const page = await signIn(reader);
    await page.getByRole("link", { name: "Topics", exact: true }).click();
    await page.getByRole("link", { name: "Critical network tickets" }).click();
    await page.getByRole("heading", { name: "Events of this topic" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Change" }).count(), 0);
    assert.equal(await page.getByRole("link", { name: "Edit details" }).count(), 0);
    await page.goto(`${page.url()}?tab=change`);
    await page.getByText("Changing topics requires the right").waitFor();
    await assertAccessible(page);
  });

  it("is accessible", async () => {
    const page = await openTopic(undefined, viewports.narrow);
    await page.getByText("29,460").waitFor();
    await assertAllLooks(page, "topic");
    const tabs = page.getByRole("navigation", { name: "Parts of the topic" });
    await tabs.getByRole("link", { name: "Change" }).click();
    await page.getByLabel("Content query").fill("troubleTicket.severity=Critical,Major");
    await page.getByRole("button", { name: "Test with the last 20,000 events" }).click();
    await page.getByText("70 of 100 events match, instead of 40.").waitFor();
    await assertAllLooks(page, "topic-change");
    await tabs.getByRole("link", { name: "History" }).click();
    await page.getByRole("heading", { name: "Version 1" }).waitFor();
    await assertAllLooks(page, "topic-history");
    await tabs.getByRole("link", { name: "Relations" }).click();
    await page.getByRole("region", { name: "The same events" }).getByText("No other topic.").waitFor();
    await assertAllLooks(page, "topic-relations");
    await tabs.getByRole("link", { name: "Overview" }).click();
    await page.getByText("dashboards@example.org").waitFor();
    await page.getByRole("link", { name: "Edit details" }).click();
    await page.getByLabel("Owner").waitFor();
    await assertAllLooks(page, "topic-details");
  });
});
