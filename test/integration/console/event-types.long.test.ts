import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { createRandom } from "../../support/random.ts";
import { routerStage, sampled } from "../../support/router-scene.ts";
import type { TestService } from "../../support/service.ts";
import { createTmfEvent } from "../../support/tmf-events.ts";

const { routerScene } = routerStage();
const scene = routerScene();
let service: TestService;
const { openConsole } = useConsole(() => service.url);
const random = createRandom(3);

before(async () => {
  await scene.createTopics();
  for (let times = 0; times < 4; times += 1)
    await scene.produce(...Array.from({ length: 500 }, () => ({ value: createTmfEvent(random) })));
  service = await scene.start();
  await sampled(service);
});

describe("the pages of event types", () => {
  it("list the types, and show the paths of one, from which a topic can be created", async () => {
    const page = await openConsole("Event types");
    await page.getByRole("row", { name: "TroubleTicketCreateEvent" }).waitFor();
    assert.equal(await page.getByRole("row").count(), 6);
    await page.getByText(/The last [\d,]+ events, from /).waitFor();
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
        /productOrder\.stat did not occur in [\d,]+ sampled events .*; did you mean productOrder\.state \(100 %\)\?/,
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
