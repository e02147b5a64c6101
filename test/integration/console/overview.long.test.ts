import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Page } from "playwright-core";

import { assertAccessible, assertAllLooks, useConsole, viewports } from "../../support/console.ts";
import { call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";
import { addUser, bootstrap, type TestService } from "../../support/service.ts";

const { scene } = stage();
const own = scene({ PUSH_APPLICATIONS: "Mobile Agent", PUSH_PLATFORMS: "ios,android" });
let service: TestService;
const { openPage, signIn, openConsole } = useConsole(() => service.url);

before(async () => {
  await own.createTopic(2);
  service = await own.start();
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
    const page = await signIn({ ...bootstrap, password: "wrong" });
    await page.getByRole("alert").getByText("The user name or the password is wrong").waitFor();
    await assertAccessible(page);
    await page.getByLabel("User").press("Tab");
    await page.keyboard.type(bootstrap.password);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(new URL(page.url()).pathname, "/console/overview");
  });

  it("ends when the user signs out, which invalidates the cookie", async () => {
    const page = await signIn();
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
    const page = await signIn();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.context().clearCookies();
    await page.reload();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
  });
});

interface ChartState {
  readonly width: number;
  /** Of its line, in the current theme. */
  readonly color: string;
  /** Whether something is drawn in that color. */
  readonly hasLine: boolean;
}

/** Reads the state of the first chart. */
const readChartScript = `(() => {
  const canvas = document.querySelector(".chart canvas");
  const color = getComputedStyle(canvas).getPropertyValue("--chart-line-1").trim();
  const probe = new OffscreenCanvas(1, 1).getContext("2d");
  probe.fillStyle = color;
  probe.fillRect(0, 0, 1, 1);
  const wanted = probe.getImageData(0, 0, 1, 1).data.join();
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let hasLine = false;
  for (let at = 0; at < data.length && !hasLine; at += 4) hasLine = data.slice(at, at + 4).join() === wanted;
  return { width: canvas.getBoundingClientRect().width, color, hasLine };
})()`;

const readChart = (page: Page): Promise<ChartState> => page.evaluate(readChartScript);

/** Reads it two frames after the theme was changed; the next values, which redraw it anyway, arrive later. */
const readChangedChart = (page: Page): Promise<ChartState> =>
  page.evaluate(`(async () => {
    document.querySelector("button[aria-label='Use the dark theme']").click();
    for (let frames = 0; frames < 2; frames += 1) await new Promise(requestAnimationFrame);
    return ${readChartScript};
  })()`);

describe("pages without content", () => {
  it("say what to do first", async () => {
    const page = await openConsole("Topics");
    await page.getByRole("link", { name: "Create the first topic" }).click();
    await page.getByRole("heading", { name: "Create a topic" }).waitFor();
    await page.getByRole("link", { name: "Picker" }).click();
    await page.getByRole("button", { name: "Find topics" }).click();
    await page.getByRole("link", { name: "create the first one" }).waitFor();
    await page.getByRole("link", { name: "Installations" }).click();
    await page.getByText("No push tokens yet. First add the application").waitFor();
    await page.getByRole("main").getByRole("link", { name: "Applications" }).click();
    await page.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
  });

  it("say how to turn the router on", async () => {
    const page = await openConsole("Events");
    await page.getByRole("heading", { name: "Events are not forwarded" }).waitFor();
    await page.getByText("To turn it on, set KAFKA_EVENTS_TOPIC").waitFor();
    await assertAccessible(page);
  });
});

describe("the overview", () => {
  it("shows rejections and registrations as they happen", async () => {
    const page = await signIn();
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
    await page.getByRole("row", { name: "Mobile Agent" }).getByText("2", { exact: true }).waitFor();
    assert.equal(await page.getByRole("row", { name: /this process/ }).count(), 2);
  });

  it("draws lag and rate in the colors of the theme, as wide as the window allows", async () => {
    const page = await signIn();
    await page
      .getByRole("img", {
        name: /^Lag in records during the last hour\. Lag: now 0, at most [\d,]+ at \d\d:\d\d\.$/,
      })
      .waitFor();
    const chart = page.getByRole("img", { name: /^Records per second .* Records: now [\d.]+, at most / });
    // A rate needs two samples, which are ten seconds apart.
    await chart.waitFor();
    await until("the line is drawn", async () => (await readChart(page)).hasLine);
    const light = await readChart(page);
    const dark = await readChangedChart(page);
    assert.notEqual(dark.color, light.color);
    assert.ok(dark.hasLine);
    await page.setViewportSize({ width: 400, height: 800 });
    await until("it is narrower", async () => (await readChart(page)).width < light.width);
    await assertAccessible(page);
  });

  it("names the role that is required to see dead letters", async () => {
    const id = unique("faulty");
    await own.send({ externalId: id, name: "" });
    const page = await signIn();
    await page.getByRole("row", { name: id }).getByText("SCHEMA_VIOLATION").waitFor();
    const reader = { user: unique("reader"), password: "a reader's password" };
    await addUser(own.settings, reader.user, reader.password);
    const theirs = await signIn(reader);
    await theirs.getByText("Viewing dead letters requires the right").waitFor();
    assert.equal(await theirs.getByRole("row", { name: id }).count(), 0);
    await assertAccessible(theirs);
  });

  it("is accessible", async () => {
    const signInPage = await openPage(viewports.narrow);
    await signInPage.goto(`${service.url}/console`);
    await signInPage.getByRole("button", { name: "Sign in" }).waitFor();
    await assertAllLooks(signInPage, "sign-in");
    const page = await signIn(bootstrap, viewports.narrow);
    await page.getByRole("heading", { name: "All systems operational" }).waitFor();
    await assertAllLooks(page, "overview");
  });
});
