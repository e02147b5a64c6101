/** The page "Your account", as any user uses it. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Page } from "playwright-core";

import { assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { useService } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";

const service = useService();
const { signIn } = useConsole(() => service.url);
const password = "a password of a user";

/** Adds a user without roles. */
async function createUser(user = unique("user")) {
  await call(`${service.url}/api/topicsync/v1/users`, { body: { name: user, password } });
  return { user, password };
}

/** Opens the page by the link of the user's name. */
async function openAccount(page: Page, user: string): Promise<void> {
  await page.getByRole("link", { name: user }).click();
  await page.getByRole("heading", { name: "Your account", level: 1 }).waitFor();
}

const countRows = (page: Page): Promise<number> => page.getByRole("button", { name: /^End the/u }).count();

describe("the page of one's own account", () => {
  before(async () => {
    const user = await createUser("dora.delay");
    await (await signIn(user)).getByRole("heading", { name: "Overview" }).waitFor();
  });

  it("is accessible", async () => {
    const page = await signIn({ user: "dora.delay", password }, viewports.narrow);
    await openAccount(page, "dora.delay");
    await page.getByText("(this one)").waitFor();
    await assertAllLooks(page, "account");
  });

  it("lists the sessions, and ends one or all others", async () => {
    const user = await createUser();
    const page = await signIn(user);
    const others = await Promise.all([1, 2, 3].map(() => signIn(user)));
    for (const other of others) await other.getByRole("heading", { name: "Overview" }).waitFor();
    await openAccount(page, user.user);
    await page.getByText("(this one)").waitFor();
    assert.equal(await countRows(page), 3);
    await page
      .getByRole("button", { name: /^End the/u })
      .first()
      .click();
    await page.getByText("The session was ended.").waitFor();
    await page.getByRole("button", { name: "End all other sessions" }).click();
    await page.getByText("All other sessions were ended.").waitFor();
    await page.getByRole("button", { name: "End all other sessions" }).waitFor({ state: "detached" });
    assert.equal(await countRows(page), 0);
    for (const other of others) {
      await other.reload();
      await other.getByRole("button", { name: "Sign in" }).waitFor();
    }
    await page.reload();
    await page.getByText("(this one)").waitFor();
  });

  it("changes the password of a user who knows the current one", async () => {
    const user = await createUser();
    const next = "another password of hers";
    keepSecret(next);
    const page = await signIn(user);
    await openAccount(page, user.user);
    await page.getByLabel("Current password").fill("a guess");
    await page.getByLabel("New password", { exact: true }).fill(next);
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("The current password is wrong.").waitFor();
    await page.getByLabel("Current password").fill(password);
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("Your password was changed.").waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Your account", level: 1 }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("User").fill(user.user);
    await page.getByLabel("Password").fill(next);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Your account", level: 1 }).waitFor();
  });
});
