/** The systemd unit, checked by systemd and against the settings and exit codes of the service. */
import assert from "node:assert/strict";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { exitCodes } from "@topicsync/lib/errors";
import { isCommandMissing, runCommand } from "@topicsync/embedded";
import { secretSettings, settingsSchema } from "../../../schemas/settings.ts";
import { createFolder } from "../../support/local.ts";

const text = readFileSync(
  fileURLToPath(new URL("../../../deploy/systemd/topicsync.service", import.meta.url)),
  "utf8",
);
const readValues = (name: string): string[] =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);

describe("the systemd unit", () => {
  it("is valid and sandboxed according to systemd-analyze", async (t) => {
    const folder = createFolder(t);
    // systemd-analyze requires that the program exists.
    const program = join(folder, "topicsync");
    writeFileSync(program, "#!/bin/sh\n");
    chmodSync(program, 0o755);
    const unit = join(folder, "topicsync.service");
    writeFileSync(unit, text.replace("/opt/topicsync/bin/topicsync", program));
    for (const args of [["verify"], ["security", "--offline=true", "--threshold=20"]]) {
      const finished = await runCommand("systemd-analyze", [...args, unit]).catch((error: unknown) => {
        // Not every machine has systemd.
        if (!isCommandMissing(error)) throw error;
        t.diagnostic("systemd-analyze is not installed");
        return undefined;
      });
      if (finished === undefined) return;
      assert.equal(finished.code, 0, `${finished.stdout}${finished.stderr}`);
      if (args[0] === "verify") assert.equal(finished.stderr, "");
    }
  });

  it("restarts the service except after errors that a restart cannot fix", () => {
    const { usage, databaseConflict, configuration } = exitCodes;
    assert.deepEqual(readValues("Restart"), ["on-failure"]);
    // Zero turns the limit off: otherwise some crashes in a row would end the service for good.
    assert.deepEqual(readValues("StartLimitIntervalSec"), ["0"]);
    assert.deepEqual(readValues("StartLimitBurst"), []);
    assert.deepEqual(readValues("RestartPreventExitStatus"), [
      [usage, databaseConflict, configuration].join(" "),
    ]);
  });

  it("sets existing settings, and passes secrets as credentials", () => {
    const names = readValues("Environment").map((one) => one.slice(0, one.indexOf("=")));
    const known = [
      "NODE_ENV",
      ...Object.keys(settingsSchema.properties),
      ...secretSettings.map((one) => `${one}_FILE`),
    ];
    assert.deepEqual(
      names.filter((name) => !known.includes(name)),
      [],
    );
    const credentials = readValues("LoadCredential").map((one) => one.slice(0, one.indexOf(":")));
    const files = readValues("Environment").filter((one) => one.includes("_FILE="));
    assert.deepEqual(
      files.map((one) => one.slice(one.indexOf("=") + 1)),
      credentials.map((name) => `%d/${name}`),
    );
  });
});
