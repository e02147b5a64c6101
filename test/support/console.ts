import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after } from "node:test";

import type { Browser, BrowserContextOptions, Page } from "playwright-core";

import { buildConsole } from "../../console/bundle.ts";
import { bootstrap } from "./service.ts";

/** The service shows what was built. */
await buildConsole();

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Both themes, each with another width of the window. */
export const viewports = {
  light: { colorScheme: "light", viewport: { width: 1280, height: 900 } },
  dark: { colorScheme: "dark", viewport: { width: 1280, height: 900 } },
  narrow: { colorScheme: "light", viewport: { width: 360, height: 740 } },
} as const satisfies Record<string, BrowserContextOptions>;

/** What the browser complained of in the tests of this file: a script that fails, a policy that is broken. */
const browserErrors: string[] = [];
after(() => {
  assert.deepEqual(browserErrors, []);
});

/** Opens a page in a browser of its own kind: nobody is signed in. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = viewports.light,
): Promise<Page> {
  const context = await browser.newContext({ ...options, locale: "en-GB", timezoneId: "Europe/Zurich" });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on("pageerror", (error) => browserErrors.push(String(error)));
  page.on("console", (message) => {
    // An answer of 401 or 503 is told of by the page itself.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      browserErrors.push(message.text());
  });
  return page;
}

/** Signs in as a user would. */
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

/** Finds nothing that keeps people out: WCAG 2.2 A and AA, and axe's best practices. */
export async function assertAccessible(page: Page): Promise<void> {
  // The policy of the page allows no script of strangers; what the debugger runs is not the page's.
  const violations = await page.evaluate(`${axe}; axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.map(({ target }) => target).join(" | ")))`);
  assert.deepEqual(violations, []);
}

/** Nothing stands out of the window to its side. */
export async function assertFits(page: Page): Promise<void> {
  const [wanted, there] = await page.evaluate<[number, number]>(
    "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
  );
  assert.ok(wanted <= there, `the page is ${wanted} px wide in a window of ${there} px`);
}

/** Keeps a picture of the page for the documentation, when asked to: `npm run screenshots`. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  if (process.env["KEEP_PICTURES"] === undefined) return;
  const path = new URL(`../../docs/images/${name}.png`, import.meta.url).pathname;
  await page.screenshot({ path, fullPage: true });
}
