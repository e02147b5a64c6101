import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { installOnce, installWithPip, findPython } from "@topicsync/embedded";
import { toolsFolder } from "../support/local.ts";

const constraints = fileURLToPath(new URL("constraints.txt", import.meta.url));

/** Runs `schemathesis run` in a folder, which keeps what it writes, and returns its output. */
export async function runSchemathesis(folder: string, args: readonly string[]): Promise<string> {
  const python = await findPython();
  const options = {
    cwd: folder,
    env: { ...process.env, PYTHONPATH: await install(python), PYTHONDONTWRITEBYTECODE: "1" },
    maxBuffer: 16 * 1024 * 1024,
  };
  const command = ["-m", "schemathesis.cli", "run", "--no-color", ...args];
  return new Promise((resolve) => {
    execFile(python.command, command, options, (_, said, complaint) => {
      resolve(`${said}${complaint}`);
    });
  });
}

/** The folder with schemathesis and what it needs, downloaded when it is not there yet. */
async function install(python: Awaited<ReturnType<typeof findPython>>): Promise<string> {
  const digest = createHash("sha256").update(readFileSync(constraints)).digest("hex").slice(0, 8);
  const folder = join(toolsFolder, `schemathesis-${digest}-${python.abi}`);
  await installOnce(folder, (temporary) =>
    installWithPip({
      python,
      folder: temporary,
      name: "schemathesis",
      requirements: ["schemathesis", "--constraint", constraints],
    }),
  );
  return folder;
}
