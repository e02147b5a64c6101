import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Page } from "playwright-core";

import type { Overview } from "../../../schemas/overview.ts";
import { assertAccessible, assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { createEvent, routerStage } from "../../support/router-scene.ts";
import { addUser, type TestService } from "../../support/service.ts";

const { routerScene } = routerStage();
const own = routerScene();
let service: TestService;
const { signIn, openConsole } = useConsole(() => service.url);

const tickets = unique("tickets");
const critical = unique("critical/ü");
const define = (externalId: string, contentQuery: string) => ({
  ...{ externalId, name: `Topic ${externalId}`, namespace: "assurance", contentQuery },
  headerQuery: "eventType=TicketEvent",
});

before(async () => {
  await own.createTopics(2);
  await own.createTopic();
  service = await own.start();
  await own.send(define(tickets, ""), define(critical, "severity=critical"));
  await own.stored(2);
});

const findFigure = (page: Page, name: string, value: string) =>
  page.locator(".figures > div", { hasText: name }).getByText(value, { exact: true });

describe("the page Events", () => {
  it("says what to do while no event has arrived", async () => {
    const page = await openConsole("Events");
    await page.getByRole("heading", { name: "Events are matched against 2 topics" }).waitFor();
    await page.getByText("No event has matched a topic").waitFor();
    await page.getByText("None. Events that cannot be forwarded").waitFor();
    await assertAccessible(page);
    await page.getByRole("main").getByRole("link", { name: "Picker" }).click();
    await page.getByRole("heading", { name: "Picker", level: 1 }).waitFor();
  });

  it("shows what becomes of events as they arrive", async () => {
    const page = await openConsole("Events");
    await page.getByText("No event has matched a topic").waitFor();
    await own.produce(
      { value: createEvent("TicketEvent", { severity: "critical" }), partition: 0 },
      { value: createEvent("TicketEvent", { severity: "minor" }), partition: 1 },
      { value: createEvent("OtherEvent"), partition: 1 },
      { value: "[]", partition: 0 },
    );
    const counts = { Matched: "2", Unmatched: "1", "Forwarded copies": "3", "Dead letters": "1" };
    for (const [name, value] of Object.entries(counts)) await findFigure(page, name, value).waitFor();
    await findFigure(page, "Lag, records", "0").waitFor();

    const busiest = page.getByRole("region", { name: "Busiest topics" });
    await busiest.getByRole("row", { name: `${tickets} 2` }).waitFor();
    const partitions = page.getByRole("region", { name: "Partitions" });
    assert.equal(await partitions.getByRole("row", { name: /this process reading/ }).count(), 2);
    await partitions.getByText(own.groupId).waitFor();
    await busiest.getByRole("link", { name: critical }).click();
    await page.getByRole("heading", { name: `Topic ${critical}` }).waitFor();
  });

  it("links to the dead letters of events, all and by code", async () => {
    const page = await openConsole("Events");
    const recent = page.getByRole("region", { name: "Recent dead letters" });
    await recent.getByRole("link", { name: "SCHEMA_VIOLATION" }).first().click();
    await page.getByRole("heading", { name: "SCHEMA_VIOLATION" }).waitFor();
    await page.getByRole("link", { name: "Events", exact: true }).click();
    await page.getByRole("listitem").getByRole("link", { name: "SCHEMA_VIOLATION" }).click();
    assert.equal(new URL(page.url()).search, "?channel=events&code=SCHEMA_VIOLATION");
    await page.getByRole("link", { name: "SCHEMA_VIOLATION 1" }).waitFor();
  });

  it("hides the content of dead letters from users who may not see events", async () => {
    const manager = { user: unique("manager"), password: "a manager's password" };
    await addUser(
      own.settings,
      manager.user,
      manager.password,
      "--role",
      "svc_api_notif_mgmt.event_mgmt_integration",
    );
    const page = await signIn(manager);
    await page.getByRole("link", { name: "Events", exact: true }).click();
    const recent = page.getByRole("region", { name: "Recent dead letters" });
    await recent.getByText("Not shown: it may quote the event.").waitFor();
    await recent.getByRole("link", { name: "SCHEMA_VIOLATION" }).first().click();
    await page.getByText("Key, value and headers require the right").waitFor();
    await page.getByText("Hidden", { exact: true }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "Headers" }).count(), 0);
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByRole("dialog", { name: "Replay 1 dead letter?" }).waitFor();
    await assertAccessible(page);
  });

  it("draws lag and rate, described in words", async () => {
    const page = await openConsole("Events");
    await page
      .getByRole("img", { name: /^Lag in events during the last hour\. Lag: now 0, at most \d+ at / })
      .waitFor();
    await page
      .getByRole("img", {
        name: /^Events per second .* Events: now [\d.]+, at most .* Forwarded copies: now [\d.]+, at most /,
      })
      // A rate needs two samples, which are ten seconds apart.
      .waitFor();
  });

  it("hides links and dead letters from users without the role", async () => {
    const reader = { user: unique("reader"), password: "a reader's password" };
    await addUser(own.settings, reader.user, reader.password);
    const page = await signIn(reader);
    await page.getByRole("link", { name: "Events", exact: true }).click();
    await page.getByText("Viewing dead letters requires the right").waitFor();
    await page.getByText("Viewing topics requires the right").waitFor();
    assert.equal(await page.getByText(tickets).count(), 0);
    assert.equal(await page.getByRole("main").getByRole("link").count(), 0);
    await assertAccessible(page);
  });

  it("shows how far the topics are loaded", async () => {
    const page = await openConsole("Events");
    await page.getByRole("heading", { name: "Events are matched against 2 topics" }).waitFor();
    const overview = (await call(`${service.url}/api/topicsync/v1/overview`, { method: "GET" }))
      .json as Overview;
    const { router } = overview.sync;
    assert.ok(router !== null);
    const index = { state: "reloading", topics: 40_000, topicsRead: 10_000 } as const;
    const reloading = { ...overview, sync: { ...overview.sync, router: { ...router, index } } };
    // Loading two topics takes no time that a test could see.
    await page.route("**/overview/events", (route) =>
      route.fulfill({ contentType: "text/event-stream", body: `data: ${JSON.stringify(reloading)}\n\n` }),
    );
    // The page requests it when the stream ends.
    await page.route("**/api/topicsync/v1/overview", (route) => route.fulfill({ json: reloading }));
    await page.reload();
    await page.getByText("10,000 of about 40,000 topics read.").waitFor();
    const progress = page.getByRole("progressbar", { name: "Topics read" });
    assert.equal(await progress.getAttribute("value"), "10000");
    await assertAccessible(page);
  });

  it("is accessible", async () => {
    const page = await openConsole("Events", viewports.narrow);
    await page.getByRole("img", { name: /Forwarded copies: now/ }).waitFor();
    await page.getByRole("row", { name: /SCHEMA_VIOLATION/ }).waitFor();
    await assertAllLooks(page, "events");
  });
});
