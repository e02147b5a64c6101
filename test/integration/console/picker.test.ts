import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { startBrowser } from "../../support/browser.ts";
import {
  assertAccessible,
  assertFits,
  saveScreenshot,
  viewports,
  openPage,
  signIn,
} from "../../support/console.ts";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { ownNames, runCli, startTopicsync, type TestService } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

const stack = sharedStack();
const { uri } = testDatabase(stack.mongodb);
const settings = { ...ownNames(), MONGODB_URI: uri, KAFKA_BROKERS: stack.kafka };
const critical = {
  name: "Critical tickets",
  externalId: unique("critical"),
  namespace: "assurance",
  headerQuery: "eventType=TroubleTicketCreateEvent",
  contentQuery: "troubleTicket.severity=Critical",
};
const minor = {
  ...critical,
  name: "Minor tickets",
  externalId: unique("minor"),
  contentQuery: "troubleTicket.severity=Minor",
};
let service: TestService;
let browser: Browser;

before(async () => {
  service = await startTopicsync(settings);
  browser = await startBrowser();
  await service.ready();
  for (const topic of [critical, minor])
    assert.equal((await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body: topic })).status, 201);
});

describe("the picker", () => {
  it("lists the topics that match an event, and explains why another does not", async () => {
    const page = await openPage(browser);
    await signIn(page, service.url);
    await page.getByRole("link", { name: "Picker" }).click();
    await page.getByRole("button", { name: "Find topics" }).click();
    await page.getByRole("heading", { name: "The event matches 1 topic" }).waitFor();
    await page.getByRole("row", { name: critical.externalId }).getByText("assurance").waitFor();
    await page.getByRole("button", { name: "Why Critical tickets?" }).click();
    await page.getByRole("heading", { name: `The event matches ${critical.externalId}` }).waitFor();

    await page.getByLabel("Why does a topic not match?").fill(minor.externalId);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: `The event does not match ${minor.externalId}` }).waitFor();
    const failed = page.getByRole("row", { name: "severity" });
    await failed.getByRole("cell", { name: "no", exact: true }).waitFor();
    await failed.getByRole("cell", { name: "Critical", exact: true }).waitFor();

    await page.getByLabel("Why does a topic not match?").fill("nothing");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText('There is no topic with the external id "nothing".').waitFor();
  });

  it("shows what is wrong with an event while typing", async () => {
    const page = await openPage(browser);
    await signIn(page, service.url);
    await page.getByRole("link", { name: "Picker" }).click();
    await page.getByLabel("Event").fill('{"eventId": ');
    await page.getByText("Invalid JSON").waitFor();
    assert.equal(await page.getByRole("button", { name: "Find topics" }).isEnabled(), false);
    await assertAccessible(page);
    await page.getByLabel("Sample").selectOption("A sensor that is offline");
    await page.getByRole("button", { name: "Find topics" }).click();
    await page.getByRole("heading", { name: "The event matches no topic" }).waitFor();
  });

  it("is hidden from users without the role", async () => {
    const [user, password] = [unique("reader"), "a reader's password"];
    const { code, errors } = await runCli(["users", "add", user], settings, password);
    assert.equal(code, 0, errors);
    const page = await openPage(browser);
    await signIn(page, service.url, { user, password });
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Picker" }).count(), 0);
    await page.goto(`${service.url}/console/picker`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  for (const [look, options] of Object.entries(viewports)) {
    it(`is accessible: ${look}`, async () => {
      const page = await openPage(browser, options);
      await signIn(page, service.url);
      await page.getByRole("link", { name: "Picker" }).click();
      await page.getByLabel("Why does a topic not match?").fill(minor.externalId);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "The event matches 1 topic" }).waitFor();
      await assertAccessible(page);
      await assertFits(page);
      await saveScreenshot(page, `picker-${look}`);
    });
  }
});
