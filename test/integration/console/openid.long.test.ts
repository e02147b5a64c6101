/** Signing in on the console with a real OpenID provider, on another site. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Page } from "playwright-core";

import { findFreePort } from "@topicsync/embedded";
import { buildRedirectUri } from "../../../http/routes/openid-sign-in.ts";
import { roles } from "../../../src/users/user.ts";
import { assertAccessible, assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { startOpenIdProvider } from "../../support/openid-provider.ts";
import { useService } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";

const people = [
  { name: "ann", roles: [roles.eventManagement] },
  { name: "bob", roles: ["something-else"] },
];
const port = await findFreePort();
const publicUrl = `http://127.0.0.1:${port}`;
const client = {
  clientId: "topicsync-console",
  clientSecret: "the secret of the console",
  redirectUri: buildRedirectUri(publicUrl),
};
keepSecret(client.clientSecret);
const issuer = await startOpenIdProvider(client, people);
const service = useService({
  HTTP_PORT: String(port),
  HTTP_PUBLIC_URL: publicUrl,
  OIDC_ISSUER: issuer,
  OIDC_AUDIENCE: "topicsync",
  OIDC_CLIENT_ID: client.clientId,
  OIDC_CLIENT_SECRET: client.clientSecret,
  OIDC_SCOPE: "openid profile",
});
const { openPage } = useConsole(() => service.url);

/** Signs in at the provider with this name and returns to the console. */
async function signInAs(page: Page, name: string, from = "/console"): Promise<void> {
  await page.goto(`${service.url}${from}`);
  await page.getByRole("button", { name: "Sign in with OpenID" }).click();
  await page.waitForURL(`${issuer}/**`);
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Go on" }).click();
}

describe("signing in with OpenID", () => {
  it("returns to the page where it began, with the provider's user name and roles", async () => {
    const page = await openPage();
    await signInAs(page, "ann", "/console/picker");
    await page.getByRole("heading", { name: "Picker" }).waitFor();
    await page.getByText("oidc:ann").waitFor();
    assert.equal(new URL(page.url()).pathname, "/console/picker");
    const cookies = await page.context().cookies(service.url);
    assert.deepEqual(
      cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]),
      [["topicsync_session", true, "Strict"]],
      "the cookie of the sign-in is removed",
    );
    await page.getByRole("button", { name: "Find topics" }).click();
    await page.getByRole("heading", { name: "The event matches no topic" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You have signed out.").waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Sign in with OpenID" }).waitFor();
  });

  it("hides pages that the roles do not allow", async () => {
    const page = await openPage();
    await signInAs(page, "bob");
    await page.getByText("oidc:bob").waitFor();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Picker" }).count(), 0);
    await page.goto(`${service.url}/console/picker`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("link", { name: "oidc:bob" }).click();
    await page.getByText("(this one)").waitFor();
    assert.equal(await page.getByLabel("Current password").count(), 0);
  });

  it("reports that the user declined, and can be repeated", async () => {
    const page = await openPage();
    await page.goto(`${service.url}/console`);
    await page.getByRole("button", { name: "Sign in with OpenID" }).click();
    await page.getByRole("button", { name: "No" }).click();
    await page.getByRole("alert").getByText("The sign-in was declined").waitFor();
    await assertAccessible(page);
    await page.reload();
    await page.getByRole("button", { name: "Sign in with OpenID" }).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0, "the error is shown once");
  });

  it("is accessible", async () => {
    const page = await openPage(viewports.narrow);
    await page.goto(`${service.url}/console?sign-in=expired`);
    await page.getByRole("button", { name: "Sign in with OpenID" }).waitFor();
    await page.getByRole("alert").getByText("Please try again").waitFor();
    await assertAllLooks(page, "openid");
  });
});
