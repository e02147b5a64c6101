/** The console of a service that a reverse proxy shows at a path of its host. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";

import { buildRedirectUri } from "../../../http/routes/openid-sign-in.ts";
import { roles } from "../../../src/users/user.ts";
import { useConsole } from "../../support/console.ts";
import { startOpenIdProvider } from "../../support/openid-provider.ts";
import { startPathProxy } from "../../support/path-proxy.ts";
import { useService } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";

const path = "/tools/topicsync";
const [removing, keeping] = await Promise.all([startProxy(false), startProxy(true)]);
const client = {
  clientId: "topicsync-console",
  clientSecret: "the secret of the console behind a path",
  redirectUri: buildRedirectUri(removing.publicUrl),
};
keepSecret(client.clientSecret);
const issuer = await startOpenIdProvider(client, [{ name: "ann", roles: [roles.eventManagement] }]);
const service = useService({
  HTTP_PUBLIC_URL: removing.publicUrl,
  OIDC_ISSUER: issuer,
  OIDC_AUDIENCE: "topicsync",
  OIDC_CLIENT_ID: client.clientId,
  OIDC_CLIENT_SECRET: client.clientSecret,
  OIDC_SCOPE: "openid profile",
});

function startProxy(keepsPath: boolean) {
  return startPathProxy({ path, getTarget: () => service.url, keepsPath });
}

afterEach(() => {
  assert.deepEqual([...removing.strays, ...keeping.strays], [], "the browser stays below the path");
});

for (const [name, proxy] of [
  ["removes", removing],
  ["keeps", keeping],
] as const)
  describe(`behind a proxy that ${name} the path`, () => {
    const { signIn } = useConsole(() => proxy.publicUrl);

    it("signs in, follows the overview, opens pages, sends requests and reloads", async () => {
      const page = await signIn();
      await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
      assert.equal(page.url(), `${proxy.publicUrl}/console/overview`);
      await page.getByRole("link", { name: "Picker" }).click();
      await page.getByRole("button", { name: "Find topics" }).click();
      await page.getByRole("heading", { name: "The event matches no topic" }).waitFor();
      await page.goto(`${proxy.publicUrl}/console/topics/nothing?tab=history`);
      await page.getByRole("link", { name: "All topics" }).click();
      await page.getByRole("heading", { name: "Topics", level: 1 }).waitFor();
      await page.reload();
      await page.getByRole("heading", { name: "Topics", level: 1 }).waitFor();
      assert.equal(page.url(), `${proxy.publicUrl}/console/topics`);
      const cookies = await page.context().cookies(proxy.publicUrl);
      assert.deepEqual(
        cookies.map((one) => [one.name, one.path]),
        [["topicsync_session", path]],
      );
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByText("You have signed out.").waitFor();
    });

    it("shows the documentation, which sends requests below the path", async () => {
      const page = await signIn();
      await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
      await page.goto(`${proxy.publicUrl}/docs#/operation/getReadiness`);
      await page.getByRole("button", { name: "Try it out" }).click();
      const [response] = await Promise.all([
        page.waitForResponse(`${proxy.publicUrl}/readyz`),
        page.getByRole("button", { name: "Execute" }).click(),
      ]);
      assert.equal(response.status(), 200);
    });
  });

describe("signing in with OpenID behind a path", () => {
  const { openPage } = useConsole(() => removing.publicUrl);

  it("returns from the provider to the page where it began", async () => {
    const page = await openPage();
    await page.goto(`${removing.publicUrl}/console/picker`);
    await page.getByRole("button", { name: "Sign in with OpenID" }).click();
    await page.waitForURL(`${issuer}/**`);
    await page.getByLabel("Name").fill("ann");
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("heading", { name: "Picker" }).waitFor();
    assert.equal(page.url(), `${removing.publicUrl}/console/picker`);
    await page.getByText("oidc:ann").waitFor();
  });

  it("returns to the console if the user declines", async () => {
    const page = await openPage();
    await page.goto(removing.publicUrl);
    await page.getByRole("button", { name: "Sign in with OpenID" }).click();
    await page.getByRole("button", { name: "No" }).click();
    await page.getByRole("alert").getByText("The sign-in was declined").waitFor();
    assert.equal(page.url(), `${removing.publicUrl}/console`);
  });
});
