/** The pages Users and Applications, as an administrator uses them. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { assertAccessible, assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";
import { bootstrap } from "../../support/service.ts";

const service = useService({
  PUSH_APPLICATIONS: "Mobile Agent,Field Service",
  PUSH_PLATFORMS: "android",
});
const { signIn, openConsole } = useConsole(() => service.url);
const password = "a password of a user";

const post = (rest: string, body: unknown) => call(`${service.url}/api/topicsync/v1/${rest}`, { body });

describe("the administration pages", () => {
  before(async () => {
    const roles = ["svc_api_notif_mgmt.event_mgmt_integration"];
    await post("users", { name: "dora.delay", password, roles });
    await post("users", { name: "eve.outside", password });
    await post("users/eve.outside/disable", {});
    await post("applications/Field%20Service/disable", {});
    await post("platforms", { name: "ios", tokenRule: "apns" });
  });

  it("are hidden from users without the role", async () => {
    const page = await signIn({ user: "dora.delay", password });
    await page.getByRole("link", { name: "Picker" }).waitFor();
    for (const name of ["Users", "Applications", "Installations"])
      assert.equal(await page.getByRole("link", { name }).count(), 0);
    await page.goto(`${service.url}/console/users`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  it("are accessible", async () => {
    const page = await signIn(bootstrap, viewports.narrow);
    for (const [name, row] of [
      ["Users", "dora.delay"],
      ["Applications", "Mobile Agent"],
    ] as const) {
      await page.getByRole("link", { name }).click();
      await page.getByRole("row", { name: row }).waitFor();
      await assertAllLooks(page, name.toLowerCase());
    }
  });
});

describe("the page Users", () => {
  it("adds a user who can sign in, changes roles and password, and disables the user", async () => {
    const [user, second] = [unique("ann"), "another password of hers"];
    keepSecret(second);
    const page = await openConsole("Users");
    await page.getByRole("button", { name: "Add a user" }).click();
    await page.getByLabel("Name", { exact: true }).fill(user);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByLabel("Push tokens").check();
    await assertAccessible(page);
    await page.keyboard.press("Enter");
    await page.getByText(`${user} was added.`).waitFor();
    const row = page.getByRole("row", { name: user });
    await row.getByText("Push tokens").waitFor();

    await row.getByRole("button", { name: `Roles of ${user}` }).click();
    await page.getByLabel("Topics").check();
    await page.getByLabel("Push tokens").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await row.getByText("Topics", { exact: true }).waitFor();

    await row.getByRole("button", { name: `Password of ${user}` }).click();
    await page.getByLabel("Password", { exact: true }).fill(second);
    await page.getByRole("button", { name: "Set" }).click();
    await page.getByText(`The password of ${user} was changed.`).waitFor();
    const hers = await signIn({ user, password: second });
    await hers.getByRole("heading", { name: "Overview" }).waitFor();
    assert.deepEqual(
      (await hers.getByRole("navigation", { name: "Pages" }).getByRole("link").allTextContents()).filter(
        (name) => ["Users", "Applications", "Installations", "Picker"].includes(name),
      ),
      ["Picker"],
    );

    await row.getByRole("button", { name: `Disable ${user}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
    await row.getByText("disabled").waitFor();
    await hers.getByRole("link", { name: "Picker" }).click();
    await hers.getByRole("button", { name: "Find topics" }).click();
    await until("she is signed out", async () => {
      const { status } = await call(`${service.url}/api/topicsync/v1/session`, {
        as: undefined,
        body: { user, password: second },
      });
      return status === 401;
    });
  });

  it("shows errors, restores the focus, and prevents users from locking themselves out", async () => {
    const [found, other] = [unique("found"), unique("other")];
    for (const name of [found, other]) await post("users", { name, password });
    const page = await openConsole("Users");
    const add = page.getByRole("button", { name: "Add a user" });
    await add.click();
    await page.getByLabel("Name", { exact: true }).fill(bootstrap.user);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText(`The name "${bootstrap.user}" is already in use.`).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    assert.equal(await page.evaluate("document.activeElement.textContent"), "Add a user");

    await add.click();
    const field = page.getByLabel("Password", { exact: true });
    assert.equal(await field.getAttribute("minlength"), "8");
    await page.getByText("At least 8 characters.").waitFor();
    await page.keyboard.press("Escape");

    const own = page.getByRole("row", { name: bootstrap.user });
    assert.equal(await own.getByRole("button", { name: /Disable/ }).count(), 0);
    await own.getByRole("button", { name: `Roles of ${bootstrap.user}` }).click();
    await page.getByText("You cannot remove this role from yourself").waitFor();
    assert.equal(await page.getByLabel("Administration").isDisabled(), true);
    await page.getByRole("button", { name: "Cancel" }).click();

    await page.getByLabel("Name starts with").fill(found);
    await page.keyboard.press("Enter");
    await page.getByRole("row", { name: other }).waitFor({ state: "detached" });
    await page.getByRole("row", { name: found }).waitFor();
  });
});

describe("the page Applications", () => {
  it("adds an application and a platform with a token rule, and disables them", async () => {
    const [application, platform] = [unique("app"), unique("platform")];
    const page = await openConsole("Applications");
    await page.getByRole("button", { name: "Add an application" }).click();
    await page.getByLabel("Name").fill(application);
    await page.keyboard.press("Enter");
    await page.getByRole("row", { name: application }).waitFor();

    await page.getByRole("button", { name: "Add a platform" }).click();
    await page.getByLabel("Name").fill(platform);
    await page.getByRole("combobox", { name: "Token rule" }).selectOption("Firebase (FCM)");
    await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
    const row = page.getByRole("row", { name: platform });
    await row.getByText("Firebase (FCM)").waitFor();
    await row.getByRole("button", { name: `Rule of ${platform}` }).click();
    await page.getByRole("combobox", { name: "Token rule" }).selectOption("any text");
    await page.getByRole("button", { name: "Save" }).click();
    await row.getByText("any text").waitFor();

    const register = async () => {
      const url = `${service.url}/api/now/push/${application}/installation`;
      return (await call(url, { body: { platform, token: unique("token") } })).status;
    };
    await until("tokens are accepted", async () => (await register()) === 200);
    await page.getByRole("button", { name: `Disable ${application}` }).click();
    await page.getByText("Its apps can no longer register or remove tokens").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
    await page.getByRole("row", { name: application }).getByText("disabled").waitFor();
    await until("tokens are rejected", async () => (await register()) === 400);
  });
});
