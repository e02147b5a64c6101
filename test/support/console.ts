import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after } from "node:test";

import type { Browser, BrowserContextOptions, Page } from "playwright-core";

import { buildConsole } from "../../console/bundle.ts";
import { bootstrap } from "./service.ts";

/** The service serves the built console. */
await buildConsole();

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Windows in both themes, and a narrow one. */
export const viewports = {
  light: { colorScheme: "light", viewport: { width: 1280, height: 900 } },
  dark: { colorScheme: "dark", viewport: { width: 1280, height: 900 } },
  narrow: { colorScheme: "light", viewport: { width: 360, height: 740 } },
} as const satisfies Record<string, BrowserContextOptions>;

/**
 * Errors in the browser during the tests of this file: failed scripts, violations of the content security
 * policy.
 */
const browserErrors: string[] = [];
after(() => {
  assert.deepEqual(browserErrors, []);
});

/** Opens a page in a new browser context, without a session. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = viewports.light,
): Promise<Page> {
  const context = await browser.newContext({ ...options, locale: "en-GB", timezoneId: "Europe/Zurich" });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on("pageerror", (error) => browserErrors.push(String(error)));
  page.on("console", (message) => {
    // The page itself shows responses such as 401 and 503.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      browserErrors.push(message.text());
  });
  return page;
}

/** Signs in with the form. */
export async function signIn(
  page: Page,
  url: string,
  { user, password }: { readonly user: string; readonly password: string } = bootstrap,
): Promise<void> {
  await page.goto(`${url}/console`);
  await page.getByLabel("User").fill(user);
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
}

/** Checks WCAG 2.2 A and AA, and axe's best practices. */
export async function assertAccessible(page: Page): Promise<void> {
  // The content security policy blocks added scripts, but not those that the debugger evaluates.
  const violations = await page.evaluate(`${axe}; axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.map(({ target }) => target).join(" | ")))`);
  assert.deepEqual(violations, []);
}

/** Checks that the page does not scroll horizontally. */
export async function assertFits(page: Page): Promise<void> {
  const [wanted, there] = await page.evaluate<[number, number]>(
    "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
  );
  assert.ok(wanted <= there, `the page is ${wanted} px wide in a window of ${there} px`);
}

/** Saves a screenshot for the documentation if run by `npm run screenshots`. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  if (process.env["KEEP_PICTURES"] === undefined) return;
  const path = new URL(`../../docs/images/${name}.png`, import.meta.url).pathname;
  await page.screenshot({ path, fullPage: true });
}
