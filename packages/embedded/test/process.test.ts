import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";

import { isAlive, startProcess, waitUntilReady, type ServerProcess } from "../process.ts";
import { until } from "../../../test/support/poll.ts";
import { cleanUpAfter, createFolder } from "../../../test/support/local.ts";

async function startShell(t: TestContext, script: string): Promise<ServerProcess> {
  const logFile = join(createFolder(t), "logs", "server.log");
  const server = await startProcess({ command: "sh", args: ["-c", script], logFile });
  cleanUpAfter(t, () => server.stop());
  return server;
}

describe("a server process", () => {
  it("has its own process id, not that of the shell around it", async (t) => {
    const server = await startShell(t, 'echo "I am $$"; exec sleep 60');
    const output = await until(
      "it has printed a line",
      async () => (await server.readLastOutput()) || undefined,
    );
    assert.equal(output, `I am ${server.pid}`);
  });

  it("is stopped by stop, which waits for its exit and can be repeated", async (t) => {
    const server = await startShell(t, "exec sleep 60");
    await server.stop();
    assert.equal(isAlive(server.pid), false);
    assert.equal(await server.ended, "killed by SIGTERM");
    await server.stop();
  });

  it("is killed if it does not exit within 10 s", async (t) => {
    const server = await startShell(t, "trap '' TERM; echo ignoring; while :; do sleep 0.1; done");
    await until("it ignores SIGTERM", async () => (await server.readLastOutput()) === "ignoring");
    await server.stop();
    assert.equal(isAlive(server.pid), false);
    assert.equal(await server.ended, "killed by SIGKILL");
  });

  it("that exits unexpectedly is reported with its exit code and last lines", async (t) => {
    const server = await startShell(t, "seq 100; echo out of disk >&2; exit 3");
    assert.equal(await server.ended, "exited with code 3");
    const lines = (await server.readLastOutput()).split("\n");
    assert.equal(lines.length, 40);
    assert.equal(lines.at(-1), "out of disk");
  });

  it("that is killed is reported", async (t) => {
    const server = await startShell(t, "exec sleep 60");
    process.kill(server.pid, "SIGKILL");
    assert.equal(await server.ended, "killed by SIGKILL");
  });

  it("whose program does not exist fails immediately with the reason", async (t) => {
    const logFile = join(createFolder(t), "server.log");
    const server = await startProcess({ command: "no-such-server", args: [], logFile });
    assert.equal(await server.ended, "exited with code 127");
    assert.match(await server.readLastOutput(), /no-such-server: not found/);
  });

  it("writes all of its output to its log file and inherits the environment", async (t) => {
    const logFile = join(createFolder(t), "server.log");
    const args = ["-c", 'echo "$EXTRA $HOME"'];
    const server = await startProcess({ command: "sh", args, env: { EXTRA: "more" }, logFile });
    await server.ended;
    assert.equal(readFileSync(logFile, "utf8"), `more ${process.env["HOME"] ?? ""}\n`);
  });

  for (const signal of ["SIGKILL", "SIGINT"] as const) {
    it(`exits after its parent exited by ${signal}`, async (t) => {
      const script = `
        import { startProcess } from ${JSON.stringify(import.meta.resolve("../../../packages/embedded/process.ts"))};
        const server = await startProcess({
          command: "sleep",
          args: ["60"],
          logFile: ${JSON.stringify(join(createFolder(t), "server.log"))},
        });
        console.log(server.pid);`;
      const parent = spawn(process.execPath, ["--input-type=module", "--eval", script], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [line] = (await once(parent.stdout, "data")) as [Buffer];
      const pid = Number(line.toString());
      assert.equal(isAlive(pid), true);
      parent.kill(signal);
      await until("the server has exited", () => !isAlive(pid));
    });
  }
});

describe("waiting until a server is ready", () => {
  it("repeats the check until it succeeds; an error counts as a failure", async (t) => {
    const server = await startShell(t, "exec sleep 60");
    const results = [() => Promise.reject(new Error("not yet")), () => Promise.resolve(false)];
    await waitUntilReady(server, () => results.shift()?.() ?? Promise.resolve(true), { name: "It" });
    assert.equal(results.length, 0);
  });

  it("throws the last output of a server that exits first", async (t) => {
    const server = await startShell(t, "echo port taken; exit 1");
    await assert.rejects(
      waitUntilReady(server, () => Promise.resolve(false), { name: "The server" }),
      { message: "The server did not start: exited with code 1. Its last output:\nport taken" },
    );
  });

  it("stops a server that takes too long", async (t) => {
    const server = await startShell(t, "exec sleep 60");
    const waiting = waitUntilReady(server, () => Promise.resolve(false), {
      name: "The server",
      timeoutMs: 200,
    });
    await assert.rejects(waiting, /The server did not start: it is not ready after 0.2 s/);
    assert.equal(isAlive(server.pid), false);
  });
});
