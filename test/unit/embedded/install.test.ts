import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { installOnce } from "../../../src/embedded/install.ts";
import { temporaryFolder } from "./local.ts";

/** The id of a process that has ended. */
const deadPid = (): number => spawnSync("true").pid;

describe("installing a folder", () => {
  it("gives it its name only when it is complete", async (t) => {
    const parent = temporaryFolder(t);
    const folder = join(parent, "tool");
    await installOnce(folder, (temporary) => {
      writeFileSync(join(temporary, "file"), "content");
      assert.equal(existsSync(folder), false);
      return Promise.resolve();
    });
    assert.equal(readFileSync(join(folder, "file"), "utf8"), "content");
    assert.deepEqual(readdirSync(parent), ["tool"]);
  });

  it("does nothing when it is there", async (t) => {
    await installOnce(temporaryFolder(t), () => assert.fail("it was filled again"));
  });

  it("is done once when it is asked for twice at the same time", async (t) => {
    const folder = join(temporaryFolder(t), "tool");
    let filled = 0;
    const install = () =>
      installOnce(folder, async () => {
        filled++;
        await new Promise(setImmediate);
      });
    await Promise.all([install(), install(), install()]);
    assert.equal(filled, 1);
    assert.equal(existsSync(folder), true);
  });

  it("leaves nothing behind when it fails, and can be tried again", async (t) => {
    const parent = temporaryFolder(t);
    const folder = join(parent, "tool");
    const failing = installOnce(folder, () => Promise.reject(new Error("no network")));
    await assert.rejects(failing, { message: "no network" });
    assert.deepEqual(readdirSync(parent), []);
    await installOnce(folder, () => Promise.resolve());
    assert.equal(existsSync(folder), true);
  });

  it("goes on where a killed process left its lock and half a folder", async (t) => {
    const parent = temporaryFolder(t);
    const folder = join(parent, "tool");
    const pid = deadPid();
    writeFileSync(`${folder}.lock`, String(pid));
    mkdirSync(`${folder}.partial-${pid}-abc`);
    await installOnce(folder, () => Promise.resolve());
    assert.deepEqual(readdirSync(parent), ["tool"]);
  });
});
