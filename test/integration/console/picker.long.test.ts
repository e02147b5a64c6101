import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { PickResponse } from "../../../schemas/pick.ts";
import { assertAccessible, assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { useService } from "../../support/scene.ts";

const service = useService();
const { signIn, openConsole } = useConsole(() => service.url);
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

describe("the picker", () => {
  before(async () => {
    for (const topic of [critical, minor])
      assert.equal((await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body: topic })).status, 201);
  });

  it("lists the topics that match an event, and explains why another does not", async () => {
    const page = await openConsole("Picker");
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

  it("names the Kafka topic of each match, where events are forwarded, and why they cannot be", async () => {
    const page = await openConsole("Picker");
    await page.getByRole("button", { name: "Find topics" }).click();
    const match = page.getByRole("row", { name: critical.externalId });
    await match.waitFor();
    assert.equal(await page.getByRole("columnheader", { name: "Kafka topic" }).count(), 0);

    // As a service with a router responds.
    await page.route("**/topic/pick", async (route) => {
      const response = await route.fetch();
      const { topics } = (await response.json()) as PickResponse;
      const egress = { egressTopic: "tickets.critical", egressFault: "The name is not legal." };
      await route.fulfill({ response, json: { topics: topics.map((topic) => ({ ...topic, ...egress })) } });
    });
    await page.getByRole("button", { name: "Find topics" }).click();
    await match.getByText("tickets.critical", { exact: true }).waitFor();
    await match.getByText("The name is not legal.").waitFor();
    await assertAccessible(page);
  });

  it("shows what is wrong with an event while typing", async () => {
    const page = await openConsole("Picker");
    await page.getByRole("textbox", { name: /^Event/ }).fill('{"eventId": ');
    await page.getByText("Invalid JSON").waitFor();
    assert.equal(await page.getByRole("button", { name: "Find topics" }).isEnabled(), false);
    await assertAccessible(page);
    await page.getByLabel("Sample").selectOption("A sensor that is offline");
    await page.getByRole("button", { name: "Find topics" }).click();
    await page.getByRole("heading", { name: "The event matches no topic" }).waitFor();
  });

  it("matches filters on the record that carries the event", async () => {
    const keyed = { ...minor, name: "Of key a", externalId: unique("keyed") };
    const filters = { headerQuery: "$key=a", contentQuery: null };
    const body = { ...keyed, ...filters };
    assert.equal((await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body })).status, 201);
    const page = await openConsole("Picker");
    await page.getByText("The record that carries the event").click();
    await page.getByLabel("Record").fill('{"$key":');
    await page.getByText("Invalid JSON").waitFor();
    await page.getByLabel("Record").fill('{"$key":"a"}');
    await page.getByRole("button", { name: "Find topics" }).click();
    await page.getByRole("row", { name: keyed.externalId }).waitFor();
    await page.getByRole("button", { name: "Why Of key a?" }).click();
    await page.getByRole("cell", { name: "$key=a" }).waitFor();
    await assertAccessible(page);
  });

  it("is hidden from users without the role", async () => {
    const [user, password] = [unique("reader"), "a reader's password"];
    await service.addUser(user, password);
    const page = await signIn({ user, password });
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Picker" }).count(), 0);
    await page.goto(`${service.url}/console/picker`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  it("is accessible", async () => {
    const page = await openConsole("Picker", viewports.narrow);
    await page.getByLabel("Why does a topic not match?").fill(minor.externalId);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "The event matches 1 topic" }).waitFor();
    await assertAllLooks(page, "picker");
  });
});
