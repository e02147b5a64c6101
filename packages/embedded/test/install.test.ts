import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { installOnce } from "../install.ts";
import { createFolder } from "../../../test/support/local.ts";

/** Returns the id of a process that has exited. */
const getDeadPid = (): number => spawnSync("true").pid;

describe("installing a folder", () => {
  it("renames it only once it is complete", async (t) => {
    const parent = createFolder(t);
    const folder = join(parent, "tool");
    await installOnce(folder, (temporary) => {
      writeFileSync(join(temporary, "file"), "content");
      assert.equal(existsSync(folder), false);
      return Promise.resolve();
    });
    assert.equal(readFileSync(join(folder, "file"), "utf8"), "content");
    assert.deepEqual(readdirSync(parent), ["tool"]);
  });

  it("does nothing if it exists", async (t) => {
    await installOnce(createFolder(t), () => assert.fail("it was filled again"));
  });

  it("happens once for concurrent calls", async (t) => {
    const folder = join(createFolder(t), "tool");
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

  it("leaves nothing behind after a failure, and can be repeated", async (t) => {
    const parent = createFolder(t);
    const folder = join(parent, "tool");
    const failing = installOnce(folder, () => Promise.reject(new Error("no network")));
    await assert.rejects(failing, { message: "no network" });
    assert.deepEqual(readdirSync(parent), []);
    await installOnce(folder, () => Promise.resolve());
    assert.equal(existsSync(folder), true);
  });

  it("recovers from a killed process that left its lock and an incomplete folder", async (t) => {
    const parent = createFolder(t);
    const folder = join(parent, "tool");
    const pid = getDeadPid();
    writeFileSync(`${folder}.lock`, String(pid));
    mkdirSync(`${folder}.partial-${pid}-abc`);
    await installOnce(folder, () => Promise.resolve());
    assert.deepEqual(readdirSync(parent), ["tool"]);
  });
});
