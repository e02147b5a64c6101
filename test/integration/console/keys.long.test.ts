/** The page "Keys", and rights of users, as an administrator uses them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertAccessible, assertAllLooks, useConsole } from "../../support/console.ts";
import { call } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";

const service = useService();
const { signIn, openConsole } = useConsole(() => service.url);
const password = "a password of a user";

const whoAmI = (key: string) => call(`${service.url}/api/topicsync/v1/session`, { method: "GET", key });

describe("the page Keys", () => {
  it("creates a key, shows it once, and deletes it", async () => {
    const name = unique("sender");
    const page = await openConsole("Keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill(name);
    await page.getByLabel("Push tokens").check();
    await page.getByLabel("Rights, one per line").fill("topics.read@assurance.*\ntopics.write@sales");
    await assertAccessible(page);
    await page.getByRole("button", { name: "Create", exact: true }).click();
    const shown = page.getByText(/^tsk_/u);
    await shown.waitFor();
    await assertAccessible(page);
    const key = (await shown.textContent()) ?? "";
    keepSecret(key);
    assert.deepEqual((await whoAmI(key)).json.roles, [
      "push_admin",
      "topics.read@assurance.*",
      "topics.write@sales",
    ]);

    await page.getByRole("button", { name: "I have copied it" }).click();
    await page.getByText(`The key ${name} was created.`).waitFor();
    const row = page.getByRole("row", { name });
    await row.getByText("topics.write@sales").waitFor();
    assert.ok(!(await page.content()).includes(key));

    await row.getByRole("button", { name: `Delete the key ${name}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText(`The key ${name} was deleted.`).waitFor();
    await row.waitFor({ state: "detached" });
    await until("it is rejected", async () => (await whoAmI(key)).status === 401);
  });

  it("shows what is wrong, and is accessible", async () => {
    await createKey(service.url, "installations.read-tokens");
    const page = await openConsole("Keys");
    await page
      .getByRole("button", { name: /^Delete the key/u })
      .first()
      .waitFor();
    await assertAllLooks(page, "keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("a/b");
    await page.getByLabel("Rights, one per line").fill("topics.reed");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("alert").getByText("/roles/0 must be a right").waitFor();
  });
});

describe("a user with rights limited to a namespace", () => {
  it("sees the pages and the topics that they allow, and cannot change them", async () => {
    const user = unique("reader");
    const page = await openConsole("Users");
    await page.getByRole("button", { name: "Add a user" }).click();
    await page.getByLabel("Name", { exact: true }).fill(user);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByLabel("Rights, one per line").fill("topics.read@sales");
    await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
    await page.getByText(`${user} was added.`).waitFor();
    for (const namespace of ["sales", "assurance"])
      await call(`${service.url}/api/svc_api_notif_mgmt/topic`, {
        body: { externalId: unique(namespace), name: `Topic of ${namespace}`, namespace },
      });

    const theirs = await signIn({ user, password });
    await theirs.getByRole("link", { name: "Topics", exact: true }).click();
    await theirs.getByRole("row", { name: "Topic of sales" }).waitFor();
    assert.equal(await theirs.getByRole("row", { name: "Topic of assurance" }).count(), 0);
    assert.equal(await theirs.getByRole("link", { name: "Create a topic" }).count(), 0);
    for (const name of ["Users", "Keys", "Installations", "Dead letters"])
      assert.equal(await theirs.getByRole("link", { name, exact: true }).count(), 0, name);
    await theirs.getByRole("link", { name: "Topic of sales" }).click();
    await theirs.getByRole("heading", { name: "Topic of sales" }).waitFor();
    assert.equal(await theirs.getByRole("button", { name: "Disable" }).count(), 0);

    await page.getByRole("button", { name: `Sessions of ${user}` }).click();
    await page.getByRole("button", { name: "End them" }).click();
    await page.getByText(`The sessions of ${user} were ended.`).waitFor();
    await theirs.reload();
    await theirs.getByRole("button", { name: "Sign in" }).waitFor();
  });
});
