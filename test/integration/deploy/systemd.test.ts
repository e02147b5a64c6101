/** The unit of systemd, as systemd itself reads it and against what the service really does. */
import assert from "node:assert/strict";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { secretSettings, settingsSchema } from "../../../schemas/settings.ts";
import { exitCodes } from "../../../src/lib/errors.ts";
import { isAbsent, runCommand } from "../../../src/embedded/command.ts";
import { temporaryFolder } from "../../unit/embedded/local.ts";

const text = readFileSync(
  fileURLToPath(new URL("../../../deploy/systemd/topicsync.service", import.meta.url)),
  "utf8",
);
const valuesOf = (name: string): string[] =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);

describe("the unit of systemd", () => {
  it("is understood by systemd, which finds it well shielded", async (t) => {
    const folder = temporaryFolder(t);
    // Where the program is, and where the unit must be called by its name, is the machine's.
    const program = join(folder, "topicsync");
    writeFileSync(program, "#!/bin/sh\n");
    chmodSync(program, 0o755);
    const unit = join(folder, "topicsync.service");
    writeFileSync(unit, text.replace("/opt/topicsync/bin/topicsync", program));
    for (const args of [["verify"], ["security", "--offline=true", "--threshold=20"]]) {
      const finished = await runCommand("systemd-analyze", [...args, unit]).catch((error: unknown) => {
        // A machine without systemd has no use for the unit either.
        if (!isAbsent(error)) throw error;
        t.diagnostic("there is no systemd-analyze here");
        return undefined;
      });
      if (finished === undefined) return;
      assert.equal(finished.code, 0, `${finished.stdout}${finished.stderr}`);
      if (args[0] === "verify") assert.equal(finished.stderr, "");
    }
  });

  it("starts the service again but for what would only come again", () => {
    const { usage, databaseConflict, configuration } = exitCodes;
    assert.deepEqual(valuesOf("Restart"), ["on-failure"]);
    assert.deepEqual(valuesOf("RestartPreventExitStatus"), [
      [usage, databaseConflict, configuration].join(" "),
    ]);
  });

  it("gives it settings that there are, and its secrets as credentials", () => {
    const names = valuesOf("Environment").map((one) => one.slice(0, one.indexOf("=")));
    const known = [
      "NODE_ENV",
      ...Object.keys(settingsSchema.properties),
      ...secretSettings.map((one) => `${one}_FILE`),
    ];
    assert.deepEqual(
      names.filter((name) => !known.includes(name)),
      [],
    );
    const credentials = valuesOf("LoadCredential").map((one) => one.slice(0, one.indexOf(":")));
    const files = valuesOf("Environment").filter((one) => one.includes("_FILE="));
    assert.deepEqual(
      files.map((one) => one.slice(one.indexOf("=") + 1)),
      credentials.map((name) => `%d/${name}`),
    );
  });
});
