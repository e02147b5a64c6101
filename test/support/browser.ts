import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { after } from "node:test";

import { chromium, type Browser } from "playwright-core";

const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

function findChromium(): string {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const found = names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Error(`the console's tests need Chromium: none of ${names.join(", ")} is on the PATH`);
}

/** The browsers that the tests of this file started. */
const browsers: Browser[] = [];
after(async () => {
  await Promise.all(browsers.map((browser) => browser.close()));
});

/** Starts a Chromium without background network requests. It is closed after the tests of this file. */
export async function startBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: findChromium(),
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
