import { after } from "node:test";

import { chromium, type Browser } from "playwright-core";

import { createChromiumEnvironment, findChromium } from "./chromium.ts";

/** The browsers that the tests of this file started. */
const browsers: Browser[] = [];
after(async () => {
  await Promise.all(browsers.map((browser) => browser.close()));
});

/** Starts a Chromium without background network requests. It is closed after the tests of this file. */
export async function startBrowser(): Promise<Browser> {
  const { TEST_CHROMIUM: installed } = process.env;
  const browser = await chromium.launch({
    executablePath: installed ?? findChromium() ?? "chromium",
    ...(installed === undefined ? {} : { env: createChromiumEnvironment(installed) }),
    args: [
      // Its sandbox does not work for root or in most containers; the pages are our own.
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  browsers.push(browser);
  return browser;
}
