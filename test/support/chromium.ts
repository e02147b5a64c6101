import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

import type { BrowserServer } from "playwright-core";

import { getLastLines, runCommand, installOnce, type LaunchOptions } from "@topicsync/embedded";
import { installPackages } from "../../bench/support/npm.ts";
import { findOnPath } from "./path.ts";
import project from "./chromium/package.json" with { type: "json" };

const packageName = "@sparticuz/chromium";
const name = `Chromium ${project.dependencies[packageName]}`;
type InstallOptions = Pick<LaunchOptions, "toolsFolder" | "report">;

const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Starts the Chromium on the PATH, or an installed one, without background network requests. */
export async function startChromium(options: InstallOptions): Promise<BrowserServer> {
  const found = findOnPath(...names);
  const executablePath = found ?? (await installChromium(options));
  // Loaded only here: most runs need no browser.
  const { chromium } = await import("playwright-core");
  return chromium.launchServer({
    executablePath,
    ...(found === undefined ? { env: createEnvironment(executablePath) } : {}),
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
}

/** Downloads and unpacks a Chromium with its libraries unless it is there, and returns its path. */
async function installChromium({ toolsFolder, report }: InstallOptions): Promise<string> {
  const packages = await installPackages(
    { name: `${name} packages`, project: join(import.meta.dirname, "chromium") },
    { toolsFolder, report },
  );
  const installed = join(toolsFolder, name.toLowerCase().replace(" ", "-"));
  await installOnce(installed, async (folder) => {
    report(`unpacking ${name}`);
    // It unpacks into the folder for temporary files.
    const { code, stderr } = await runCommand(
      process.execPath,
      ["--input-type=module", "--eval", createUnpackScript(join(packages, "node_modules", packageName))],
      { env: { TMPDIR: folder } },
    );
    if (code !== 0) throw new Error(`${name} could not be unpacked:\n${getLastLines(stderr, 10)}`);
  });
  return join(installed, "chromium");
}

const createUnpackScript = (folder: string): string => `
  import { inflate } from ${JSON.stringify(pathToFileURL(join(folder, "build/index.js")).href)};
  for (const file of ["chromium.br", "fonts.tar.br", "swiftshader.tar.br", "al2023.tar.br"])
    await inflate(${JSON.stringify(join(folder, "bin"))} + "/" + file);`;

/** The environment for an installed Chromium, which brings libraries and fonts: a bare system has none. */
const createEnvironment = (path: string): NodeJS.ProcessEnv => ({
  ...process.env,
  LD_LIBRARY_PATH: join(dirname(path), "al2023/lib"),
  ...(existsSync("/etc/fonts") ? {} : { FONTCONFIG_PATH: join(dirname(path), "fonts") }),
});
