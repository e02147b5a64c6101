/** Every page opens, accessible and without an error. The long tests of this folder try what they do. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertAccessible, useConsole } from "../../support/console.ts";
import { useService } from "../../support/scene.ts";
import { bootstrap } from "../../support/service.ts";

const service = useService();
const { signIn, openConsole, openPage } = useConsole(() => service.url);

describe("the console", () => {
  it("opens each page of the navigation after signing in, accessible and without an error", async () => {
    const page = await signIn();
    const navigation = page.getByRole("navigation", { name: "Pages" });
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
    const names = await navigation.getByRole("link").allTextContents();
    assert.ok(names.length >= 9, names.join());
    for (const name of names.filter((one) => one !== bootstrap.user)) {
      await navigation.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      await assertAccessible(page);
    }
  });

  it("creates a topic, and shows each fault of a filter while it is typed", async () => {
    const page = await openConsole("Topics");
    await page.getByRole("link", { name: "Create a topic" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Created here");
    await page.getByLabel("External id").fill("created-here");
    const content = page.getByLabel("Content query");
    await content.fill("severity=Critical&&a=1");
    await page.getByText("has no condition here").waitFor();
    await content.fill("severity=Critical");
    await page.getByText('Matches if severity is "Critical".').waitFor();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("Active", { exact: true }).waitFor();
  });

  it("opens where the browser's own language is not valid, as with LANG=C", async () => {
    const page = await openPage();
    await page.addInitScript(() => {
      Object.defineProperty(navigator, "language", { value: "en-US@posix" });
      const { NumberFormat, DateTimeFormat, RelativeTimeFormat } = Intl;
      const refuse = <T extends typeof NumberFormat | typeof DateTimeFormat | typeof RelativeTimeFormat>(
        of: T,
      ): T =>
        new Proxy(of, {
          construct(target, given: unknown[], newTarget) {
            if (given[0] === undefined) throw new RangeError("Incorrect locale information provided");
            return Reflect.construct(target, given, newTarget) as object;
          },
        });
      Object.assign(Intl, {
        NumberFormat: refuse(NumberFormat),
        DateTimeFormat: refuse(DateTimeFormat),
        RelativeTimeFormat: refuse(RelativeTimeFormat),
      });
    });
    await page.goto(`${service.url}/console`);
    await page.getByLabel("User").waitFor();
  });

  it("says so when it cannot be loaded", async () => {
    const page = await openPage();
    page.removeAllListeners("pageerror").removeAllListeners("console");
    await page.addInitScript(() => {
      Object.assign(Intl, { DateTimeFormat: undefined });
    });
    await page.goto(`${service.url}/console`);
    await page.getByRole("heading", { name: "The console cannot be shown" }).waitFor();
  });
});
