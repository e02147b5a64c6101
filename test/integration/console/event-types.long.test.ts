import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { useFolder } from "../../support/folder.ts";
import { createRandom } from "../../support/random.ts";
import { useService } from "../../support/scene.ts";
import { runCli } from "../../support/service.ts";
import { createTmfEvent } from "../../support/tmf-events.ts";

const service = useService();
const folder = useFolder();
const { openConsole } = useConsole(() => service.url);
const random = createRandom(3);

service.prepare(async () => {
  const events = Array.from({ length: 2_000 }, () => JSON.stringify(createTmfEvent(random)));
  const file = folder.createFile("events.ndjson", events.join("\n"));
  const { code, errors } = await runCli(["events", "learn", file], {
    ...service.settings,
    EVENT_LEARNING: "values",
  });
  assert.equal(code, 0, errors);
});

describe("the pages of event types", () => {
  it("list the types, and show the paths of one, from which a topic can be created", async () => {
    const page = await openConsole("Event types");
    await page.getByRole("row", { name: "TroubleTicketCreateEvent" }).waitFor();
    assert.equal(await page.getByRole("row").count(), 6);
    await page.getByRole("link", { name: "AlarmCreateEvent" }).click();
    await page.getByRole("row", { name: "event.alarm.perceivedSeverity" }).getByText("100%").waitFor();
    await page.getByText("CLEARED, CRITICAL, MAJOR, MINOR").waitFor();
    await page.getByRole("link", { name: "event.alarm.perceivedSeverity" }).click();
    assert.equal(await page.getByLabel("Header query").inputValue(), "eventType=AlarmCreateEvent");
    assert.equal(await page.getByLabel("Content query").inputValue(), "alarm.perceivedSeverity=");
    await page.getByRole("button", { name: "alarm.perceivedSeverity=MAJOR" }).click();
    await page.getByText('Matches if alarm.perceivedSeverity is "MAJOR".').waitFor();
  });

  it("help to write filters, and warn about those that no event meets", async () => {
    const page = await openConsole("Topics");
    await page.getByRole("link", { name: "Create a topic" }).click();
    const content = page.getByLabel("Content query");
    await page.getByLabel("Header query").fill("eventType=Prod");
    await page.getByRole("button", { name: "eventType=ProductOrderStateChangeEvent" }).click();
    await content.fill("priority");
    await page.getByRole("button", { name: "productOrder.priority", exact: true }).click();
    await page.getByRole("button", { name: "productOrder.priority>=", exact: true }).click();
    await content.press("End");
    await content.pressSequentially("3&productOrder.stat=failed");
    await page
      .getByText(
        /productOrder\.stat did not occur in \d+ events .*; did you mean productOrder\.state \(100 %\)\?/,
      )
      .waitFor();
    await content.fill("productOrder.state=failed");
    await page.getByText("did not occur").waitFor({ state: "detached" });
  });

  it("are accessible", async () => {
    const page = await openConsole("Event types", viewports.narrow);
    await page.getByRole("row", { name: "TroubleTicketCreateEvent" }).waitFor();
    await assertAllLooks(page, "event-types");
    await page.getByRole("link", { name: "AlarmCreateEvent" }).click();
    await page.getByRole("row", { name: "event.alarm.perceivedSeverity" }).waitFor();
    await assertAllLooks(page, "event-type");
    await page.getByRole("link", { name: "event.alarm.perceivedSeverity" }).click();
    await page.getByLabel("Content query").fill("alarm.perceivedSeverity=Major");
    await page.getByText("did you mean MAJOR").waitFor();
    await assertAllLooks(page, "topic-warning");
  });
});
