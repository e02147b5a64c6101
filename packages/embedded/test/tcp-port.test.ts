import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { promisify } from "node:util";

import { findFreePort } from "../tcp-port.ts";

const file = new URL("../../../packages/embedded/tcp-port.ts", import.meta.url).href;

it("two processes do not find the same port before one of them listens on it", async () => {
  const found = [await findFreePort(), await findFreePort(), await findFreePort()];
  // It would look in the same range, as every hundredth process does.
  const program = `Object.defineProperty(process, "pid", { value: ${process.pid} });
    const { findFreePort } = await import(${JSON.stringify(file)});
    console.log(await findFreePort(), await findFreePort(), await findFreePort());`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  const others = stdout.trim().split(" ").map(Number);
  assert.equal(new Set([...found, ...others]).size, 6, `${found.join(" ")} and ${others.join(" ")}`);
});
