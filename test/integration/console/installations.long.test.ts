import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Page } from "playwright-core";

import { assertAccessible, assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";

const service = useService({
  PUSH_APPLICATIONS: "Mobile Agent,Field Service",
  PUSH_PLATFORMS: "ios,android",
});
const { openConsole } = useConsole(() => service.url);
const records = service.db.collection<InstallationRecord>("sys_push_notif_app_install");
const token = (start: string, end: string): string => start.repeat(8) + "00".repeat(20) + end;
const of = { application: "Mobile Agent", platform: "ios" };
const bob = { ...of, user: "bob.beeper" };

const inactive = {
  active: false,
  deactivated_on: new Date(Date.now() - 86_400_000),
  deactivated_reason: "Unregistered",
};
const stored = [
  ...Array.from({ length: 60 }, (_, i) =>
    installation(token("a1b2c3", String(i).padStart(8, "0")), {
      ...{ ...of, user: "ann.alert" },
      attributes: { appVersion: "4.2.1", locale: "de-AT" },
    }),
  ),
  installation(token("d4e5f6", "deadbeef"), bob),
  installation(token("0718f9", "cafe0001"), { ...bob, application: "Field Service", platform: "android" }),
  installation(token("1a2b3c", "cafe0002"), { ...bob, ...inactive }),
];

service.prepare(async () => {
  await records.insertMany(stored);
});

const findRows = (page: Page, of: string) =>
  page.getByRole("region", { name: "Installations", exact: true }).getByRole("row", { name: of });

describe("the page Installations", () => {
  it("finds a token by its suffix, even if all of it is pasted, and reports no matches", async () => {
    const page = await openConsole("Installations");
    await page.getByText("Search by user or by the end of a token").waitFor();
    await page.getByLabel("End of the token").fill(token("d4e5f6", "deadbeef"));
    await page.keyboard.press("Enter");
    await findRows(page, "d4e5f6…beef").getByText("bob.beeper").waitFor();
    assert.equal(await findRows(page, "…").count(), 1);
    await page.getByLabel("End of the token").fill("deadbee0");
    await page.keyboard.press("Enter");
    await page.getByText("No installations match.").waitFor();
  });

  it("deactivates selected installations with a reason", async () => {
    const page = await openConsole("Installations");
    await page.getByLabel("User", { exact: true }).fill("bob.beeper");
    await page.keyboard.press("Enter");
    await findRows(page, "1a2b3c…0002").getByText("Unregistered").waitFor();
    assert.equal(await findRows(page, "…").count(), 3);
    const button = page.getByRole("button", { name: /^Deactivate/ });
    assert.equal(await button.isDisabled(), true);
    await page.getByLabel("Select all active installations on this page").check();
    await page.getByRole("button", { name: "Deactivate 2" }).click();
    await page.getByRole("heading", { name: "Deactivate 2 installations?" }).waitFor();
    await assertAccessible(page);
    await page.getByLabel("Reason").fill("lost on the train");
    await page.keyboard.press("Enter");
    await page.getByText("2 installations deactivated.").waitFor();
    await findRows(page, "d4e5f6…beef").getByText("lost on the train").waitFor();
    const reasons = (await records.find({ user: "bob.beeper" }).toArray()).map(
      (one) => one.deactivated_reason,
    );
    assert.deepEqual(reasons.toSorted(), ["Unregistered", "lost on the train", "lost on the train"]);
    assert.equal(await records.countDocuments({ active: true }), 60);
  });

  it("shows several pages", async () => {
    const page = await openConsole("Installations");
    await page.getByLabel("User", { exact: true }).fill("ann.alert");
    await page.getByRole("button", { name: "Search" }).click();
    await findRows(page, "bob.beeper").first().waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("Page 2").waitFor();
    await findRows(page, "ann.alert").first().getByText("appVersion 4.2.1, locale de-AT").waitFor();
    await until("page 2 has the other rows", async () => (await findRows(page, "ann.alert").count()) === 10);
  });

  it("is accessible", async () => {
    const page = await openConsole("Installations", viewports.narrow);
    await page.getByLabel("User", { exact: true }).fill("bob.beeper");
    await page.keyboard.press("Enter");
    await findRows(page, "cafe").or(findRows(page, "0002")).first().waitFor();
    await page.getByRole("heading", { name: "Totals" }).waitFor();
    await assertAllLooks(page, "installations");
  });
});
