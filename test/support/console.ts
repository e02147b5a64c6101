import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, afterEach, before } from "node:test";

import type { Browser, BrowserContextOptions, Page } from "playwright-core";

import { connectToBrowser } from "./browser.ts";
import { bootstrap } from "./service.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A narrow window, and both themes. */
export const viewports = {
  narrow: { colorScheme: "light", viewport: { width: 360, height: 740 } },
  dark: { colorScheme: "dark", viewport: { width: 1280, height: 900 } },
  light: { colorScheme: "light", viewport: { width: 1280, height: 900 } },
} as const satisfies Record<string, BrowserContextOptions>;

/** Errors that the browser reported in the tests of this file: failed scripts and violated policies. */
const browserErrors: string[] = [];
after(() => {
  assert.deepEqual(browserErrors, []);
});

/**
 * Connects to the browser, and returns functions that open the console in it; pages are closed after each
 * test.
 */
export function useConsole(getUrl: () => string) {
  let browser: Browser;
  before(async () => {
    browser = await connectToBrowser();
  });
  // Open pages would go on following the service's events.
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
  });

  /** Opens an empty page with cookies of its own. */
  async function openPage(options: BrowserContextOptions = viewports.light): Promise<Page> {
    const context = await browser.newContext({ ...options, locale: "en-GB", timezoneId: "Europe/Zurich" });
    const page = await context.newPage();
    // Busy machines take long, and a page that is wrong stays wrong.
    page.setDefaultTimeout(90_000);
    page.on("pageerror", (error) => browserErrors.push(String(error)));
    page.on("console", (message) => {
      // The console itself reports responses such as 401 and 503.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        browserErrors.push(message.text());
    });
    return page;
  }

  /** Signs in on a new page. */
  async function signIn(
    { user, password }: { readonly user: string; readonly password: string } = bootstrap,
    options?: BrowserContextOptions,
  ): Promise<Page> {
    const page = await openPage(options);
    await page.goto(`${getUrl()}/console`);
    await page.getByLabel("User").fill(user);
    await page.getByLabel("Password").fill(password);
    await page.keyboard.press("Enter");
    return page;
  }

  /** Opens a page by its link in the navigation, with every role. Signs in over HTTP, which computes less. */
  async function openConsole(name: string, options?: BrowserContextOptions): Promise<Page> {
    const page = await openPage(options);
    await page.request.post(`${getUrl()}/api/topicsync/v1/session`, { data: bootstrap });
    await page.goto(`${getUrl()}/console`);
    // The page may have a link of the same name, such as that to the applications.
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    return page;
  }

  return { openPage, signIn, openConsole };
}

/** Asserts that a page meets WCAG 2.2 A and AA, and axe's best practices. */
export async function assertAccessible(page: Page): Promise<void> {
  // The page's policy allows only its own scripts, but does not apply to what the debugger evaluates.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const violations = await page.evaluate(`axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.map(({ target }) => target).join(" | ")))`);
  assert.deepEqual(violations, []);
}

/** Asserts that the page does not scroll sideways. */
async function assertFits(page: Page): Promise<void> {
  const [wanted, there] = await page.evaluate<[number, number]>(
    "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
  );
  assert.ok(wanted <= there, `the page is ${wanted} px wide in a window of ${there} px`);
}

/** Asserts that no button is wider than its text needs. */
async function assertNaturalButtons(page: Page): Promise<void> {
  const stretched = await page.evaluate<string[]>(`
    [...document.querySelectorAll("button")].filter((button) => {
      const { width } = button.getBoundingClientRect();
      button.style.width = "max-content";
      const natural = button.getBoundingClientRect().width;
      button.style.width = "";
      return width > natural + 1;
    }).map(({ textContent }) => textContent)`);
  assert.deepEqual(stretched, []);
}

/** Takes a screenshot for the documentation; only with `npm run screenshots`. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  if (process.env["KEEP_PICTURES"] === undefined) return;
  const path = new URL(`../../docs/images/${name}.png`, import.meta.url).pathname;
  await page.screenshot({ path, fullPage: true });
}

/** Asserts that a page is accessible, fits its window and stretches no button, and takes its screenshot. */
async function assertLooks(page: Page, name: string): Promise<void> {
  await assertAccessible(page);
  await assertFits(page);
  await assertNaturalButtons(page);
  await saveScreenshot(page, name);
}

/** Asserts the same in each viewport; the page stays in the last one. */
export async function assertAllLooks(page: Page, name: string): Promise<void> {
  for (const [look, { colorScheme, viewport }] of Object.entries(viewports)) {
    // With motion, colors change over some time.
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize(viewport);
    // Charts follow the width of the window a frame later.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    const colors = await page.evaluate<string>("getComputedStyle(document.documentElement).colorScheme");
    assert.equal(colors, colorScheme);
    await assertLooks(page, `${name}-${look}`);
  }
}
