/** What apps in web views and pages of other sites may do, in a browser (`HTTP_ALLOWED_ORIGINS`). */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import type { BrowserContext, Frame, Page } from "playwright-core";

import { connectToBrowser } from "../../support/browser.ts";
import { useFolder } from "../../support/folder.ts";
import { toBasicAuthorization } from "../../support/http.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { unique } from "../../support/names.ts";
import { useService } from "../../support/scene.ts";
import { bootstrap } from "../../support/service.ts";

/** Of Capacitor and Ionic on Android. */
const app = "https://localhost";
const service = useService({
  PUSH_APPLICATIONS: "agent",
  PUSH_PLATFORMS: "android",
  HTTP_ALLOWED_ORIGINS: "https://LOCALHOST:443,null",
});
const records = service.db.collection<InstallationRecord>("sys_push_notif_app_install");
const folder = useFolder();
let context: BrowserContext;

before(async () => {
  // The service is on this machine, the pages come from elsewhere.
  context = await (await connectToBrowser()).newContext({ permissions: ["local-network-access"] });
});

/** Opens an empty page of an origin. */
async function openPage(origin: string): Promise<Page> {
  const page = await context.newPage();
  await page.route(`${origin}/`, (route) => route.fulfill({ contentType: "text/html", body: "<p>An app." }));
  await page.goto(origin);
  return page;
}

/** Opens an empty page without an origin: one of a file, or one in a sandbox. */
async function openOpaque(kind: "file" | "sandbox"): Promise<Frame> {
  if (kind === "file") {
    const page = await context.newPage();
    await page.goto(pathToFileURL(folder.createFile("app.html", "<p>An app.")).href);
    return page.mainFrame();
  }
  const page = await openPage("https://site.example");
  await page.setContent(
    '<iframe sandbox="allow-scripts" allow="loopback-network" srcdoc="<p>An app."></iframe>',
  );
  const frame = page.frames()[1];
  assert.ok(frame);
  return frame;
}

interface Sent {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
  readonly password?: string;
}

/** Sends a request as a page does. Returns what the page can read: the status and the body, or the error. */
const send = (
  from: Page | Frame,
  { method = "POST", path, body, password = bootstrap.password }: Sent,
): Promise<[number | string, string]> =>
  from.evaluate(
    async ([url, given]) => {
      try {
        const response = await fetch(url, given);
        return [response.status, await response.text()];
      } catch (error) {
        return [(error as Error).name, ""];
      }
    },
    [
      `${service.url}${path}`,
      {
        method,
        headers: {
          Authorization: toBasicAuthorization({ ...bootstrap, password }),
          ...(body && { "Content-Type": "application/json" }),
        },
        ...(body && { body: JSON.stringify(body) }),
      },
    ] as const,
  );

const register = (from: Page | Frame, token: string): Promise<[number | string, string]> =>
  send(from, { path: "/api/now/push/agent/installation", body: { platform: "android", token } });
const listUsers = { method: "GET", path: "/api/topicsync/v1/users" } as const;
const failed = ["TypeError", ""];

describe("an app in a web view whose origin is allowed", () => {
  it("registers, lists and removes its tokens, and can read why it may not", async () => {
    const page = await openPage(app);
    const token = unique("token");
    assert.deepEqual(await register(page, token), [200, ""]);
    const [status, text] = await send(page, { method: "GET", path: "/api/now/push/my/installations" });
    const { installations } = JSON.parse(text) as { installations: { platform: string }[] };
    assert.deepEqual([status, installations.map(({ platform }) => platform)], [200, ["android"]]);
    const path = "/api/now/v2/push/agent/removeInstallation";
    assert.deepEqual(await send(page, { path, body: { platform: "android" } }), [200, ""]);
    assert.equal((await records.findOne({ token }))?.active, false);
    const [rejected, error] = await send(page, { path, body: { platform: "symbian" } });
    assert.deepEqual([rejected, /UNKNOWN_PLATFORM/.test(error)], [400, true]);
    const [unknown, reason] = await send(page, { path, body: { platform: "android" }, password: "wrong" });
    assert.deepEqual([unknown, /UNAUTHENTICATED/.test(reason)], [401, true]);
  });

  for (const kind of ["file", "sandbox"] as const)
    it(`may have no origin: a page ${kind === "file" ? "of a file" : "in a sandbox"}`, async () => {
      const page = await openOpaque(kind);
      const token = unique("token");
      assert.deepEqual(await register(page, token), [200, ""]);
      assert.equal((await records.findOne({ token }))?.user, bootstrap.user);
      assert.deepEqual(await send(page, listUsers), failed);
    });

  it("may call nothing else", async () => {
    const page = await openPage(app);
    assert.deepEqual(await send(page, listUsers), failed);
    const { _id: id } = installation(unique("token"));
    const path = "/api/topicsync/v1/installations/deactivate";
    assert.deepEqual(await send(page, { path, body: { ids: [id], reason: "lost" } }), failed);
  });
});

describe("a page of any other origin", () => {
  it("can neither register a token nor read the caller's", async () => {
    for (const origin of ["https://site.example", "https://localhost:8443", "https://app.localhost"]) {
      const page = await openPage(origin);
      const token = unique("token");
      assert.deepEqual(await register(page, token), failed, origin);
      assert.equal(await records.findOne({ token }), null);
      const own = { method: "GET", path: "/api/now/push/my/installations" } as const;
      assert.deepEqual(await send(page, own), failed, origin);
    }
  });
});
