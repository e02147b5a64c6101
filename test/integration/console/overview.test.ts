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
import { stage } from "../../support/scene.ts";
import { bootstrap, runCli, startTopicsync, type TestService } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const { scene } = stage(sharedStack());
const own = scene();
let service: TestService;
let browser: Browser;

before(async () => {
  await own.createTopic(2);
  service = await startTopicsync({
    ...own.settings,
    PUSH_APPLICATIONS: "Mobile Agent",
    PUSH_PLATFORMS: "ios,android",
  });
  browser = await startBrowser();
  await service.ready();
});

describe("the page", () => {
  it("loads only the service's own files, and cannot be framed", async () => {
    const { headers } = await call(`${service.url}/console`, { method: "GET", as: undefined });
    const policy = (headers.get("content-security-policy") ?? "").split(";");
    for (const directive of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
      assert.ok(policy.includes(directive), policy.join(";"));
    assert.doesNotMatch(policy.join(), /unsafe|https?:|\*/);
    assert.equal(headers.get("x-frame-options"), "DENY");
  });
});

describe("signing in on the console", () => {
  it("reports wrong credentials and accepts right ones, by keyboard alone", async () => {
    const page = await openPage(browser);
    await signIn(page, service.url, { ...bootstrap, password: "wrong" });
    await page.getByRole("alert").getByText("The user name or the password is wrong").waitFor();
    await assertAccessible(page);
    await page.getByLabel("User").press("Tab");
    await page.keyboard.type(bootstrap.password);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(new URL(page.url()).pathname, "/console/overview");
  });

  it("ends when the user signs out, which invalidates the cookie", async () => {
    const page = await openPage(browser);
    await signIn(page, service.url);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const [cookie] = await page.context().cookies();
    assert.ok(cookie !== undefined);
    assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
    const session = {
      method: "GET",
      as: undefined,
      headers: { Cookie: `${cookie.name}=${cookie.value}` },
    };
    assert.equal((await call(`${service.url}/api/topicsync/v1/session`, session)).status, 200);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You have signed out.").waitFor();
    assert.equal((await call(`${service.url}/api/topicsync/v1/session`, session)).status, 401);
  });

  it("is required again after the session has expired", async () => {
    const page = await openPage(browser);
    await signIn(page, service.url);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.context().clearCookies();
    await page.reload();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
  });
});

describe("the overview", () => {
  it("shows rejections and registrations as they happen", async () => {
    const page = await openPage(browser);
    await signIn(page, service.url);
    await page.getByRole("heading", { name: "All systems operational" }).waitFor();
    await page.getByText("No push tokens yet.").waitFor();
    await page.getByText("None. Rejected records").waitFor();
    for (const token of [unique("token"), unique("token")]) {
      const url = `${service.url}/api/now/push/Mobile%20Agent/installation`;
      assert.equal((await call(url, { body: { platform: "ios", token } })).status, 200);
    }
    await own.announce(0, 20);
    const id = unique("faulty");
    await own.send({ externalId: id, name: "" });
    await page.getByRole("row", { name: id }).getByText("SCHEMA_VIOLATION").waitFor();
    await page
      .getByRole("row", { name: "Mobile Agent" })
      .getByText("2", { exact: true })
      .waitFor({ timeout: 90_000 });
    assert.equal(await page.getByRole("row", { name: /this process/ }).count(), 2);
    const line = (await page.locator(".sparkline path").getAttribute("d")) ?? "";
    // The instance has run for minutes, so only the right end of the hour has values.
    assert.match(line, /^M3[1-5]\d\.\d .*L360\.0 /);
  });

  it("names the role that is required to see dead letters", async () => {
    const id = unique("faulty");
    await own.send({ externalId: id, name: "" });
    const page = await openPage(browser);
    await signIn(page, service.url);
    await page.getByRole("row", { name: id }).getByText("SCHEMA_VIOLATION").waitFor();
    const reader = { user: unique("reader"), password: "a reader's password" };
    const added = await runCli(["users", "add", reader.user], own.settings, reader.password);
    assert.equal(added.code, 0, added.errors);
    const theirs = await openPage(browser);
    await signIn(theirs, service.url, reader);
    await theirs.getByText("Viewing dead letters requires the role").waitFor();
    assert.equal(await theirs.getByRole("row", { name: id }).count(), 0);
    await assertAccessible(theirs);
  });

  for (const [look, options] of Object.entries(viewports)) {
    it(`is accessible: ${look}`, async () => {
      const page = await openPage(browser, options);
      await page.goto(`${service.url}/console`);
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await assertAccessible(page);
      await saveScreenshot(page, `sign-in-${look}`);
      await signIn(page, service.url);
      await page.getByRole("heading", { name: "All systems operational" }).waitFor();
      await assertAccessible(page);
      await assertFits(page);
      await saveScreenshot(page, `overview-${look}`);
    });
  }
});
