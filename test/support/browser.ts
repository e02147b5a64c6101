import { after } from "node:test";

import { chromium, type Browser } from "playwright-core";

/** The connections that the tests of this file opened. */
const browsers: Browser[] = [];
after(async () => {
  await Promise.all(browsers.map((browser) => browser.close()));
});

/** Connects to the browser that `npm test` started. Its pages are closed after the tests of this file. */
export async function connectToBrowser(): Promise<Browser> {
  const { TEST_BROWSER: address } = process.env;
  if (address === undefined) throw new Error("run the tests by `npm test`: it starts the browser");
  const browser = await chromium.connect(address);
  browsers.push(browser);
  return browser;
}
