import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { describe, it } from "node:test";

import type { UserList } from "../../../schemas/user.ts";
import { cli, runCli, runJson, spawnCli } from "../../support/service.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

const { uri, db } = testDatabase(sharedStack().mongodb);
const settings = { MONGODB_URI: uri };
const users = db.collection("sys_user");

const listUsers = async () => {
  const { users: found } = (await runJson(["users", "list"], settings)) as UserList;
  return found;
};

describe("topicsync users", () => {
  it("explains what to do when there are none", async () => {
    const { code, output } = await runCli(["users", "list"], settings);
    assert.equal(code, 0);
    assert.match(output, /users add/);
  });

  it("adds a user with roles, and stores only a memory-hard hash of the password", async () => {
    const roles = ["push_admin", "svc_api_notif_mgmt.event_mgmt_integration"];
    const args = ["users", "add", "ann", "--role", ...roles];
    const { code, errors } = await runCli(args, settings, "ann's secret\nsecond line");
    assert.equal(code, 0, errors);
    const record = await users.findOne({ user_name: "ann" });
    assert.match(String(record?.["password_hash"]), /^\$scrypt\$ln=15,r=8,p=3\$[^$]{22}\$[^$]{43}$/);
    assert.deepEqual(await listUsers(), [{ name: "ann", roles, active: true }]);
  });

  it("lists users in a table", async () => {
    const { output } = await runCli(["users", "list"], settings);
    assert.match(output, /ann.*push_admin.*yes/);
  });

  it("rejects a name that is taken or has a colon, an unknown role, and an empty or short password", async () => {
    const taken = await runCli(["users", "add", "ann"], settings, "long enough");
    assert.deepEqual([taken.code, /already in use/.test(taken.errors)], [3, true]);
    const role = await runCli(["users", "add", "bob", "--role", "king"], settings, "x");
    assert.deepEqual([role.code, /It must be a right .* or a role/.test(role.errors)], [64, true]);
    const empty = await runCli(["users", "add", "bob"], settings, "\n");
    assert.deepEqual([empty.code, /password is empty/.test(empty.errors)], [1, true]);
    for (const args of [
      ["add", "bob"],
      ["passwd", "ann"],
    ]) {
      const short = await runCli(["users", ...args], settings, "seven77");
      assert.deepEqual([short.code, /must have at least 8 characters/.test(short.errors)], [1, true]);
    }
    assert.equal((await runCli(["users", "add", "b:b"], settings, "x")).code, 64);
  });

  it("changes passwords, disables and enables", async () => {
    const before = await users.findOne({ user_name: "ann" });
    assert.equal((await runCli(["users", "passwd", "ann"], settings, "another one")).code, 0);
    const after = await users.findOne({ user_name: "ann" });
    assert.notEqual(after?.["password_hash"], before?.["password_hash"]);
    assert.equal((await runCli(["users", "disable", "ann"], settings)).code, 0);
    assert.equal((await listUsers())[0]?.active, false);
    assert.equal((await runCli(["users", "enable", "ann"], settings)).code, 0);
    assert.equal((await listUsers())[0]?.active, true);
  });

  it("shows a user, without the hash", async () => {
    const { code, output } = await runCli(["users", "show", "ann"], settings);
    assert.deepEqual(
      [code, output],
      [0, "name    ann\nroles   push_admin, svc_api_notif_mgmt.event_mgmt_integration\nactive  yes\n"],
    );
    const user = await runJson(["users", "show", "ann"], settings);
    assert.deepEqual(Object.keys(user as object), ["name", "roles", "active"]);
  });

  it("grants and revokes roles", async () => {
    await users.updateOne({ user_name: "ann" }, { $set: { roles: ["push_admin", "former_role"] } });
    const roles = async (...args: string[]) => {
      const user = await runJson(["users", "roles", "ann", ...args], settings);
      return (user as { roles: string[] }).roles;
    };
    const eventManagement = "svc_api_notif_mgmt.event_mgmt_integration";
    assert.deepEqual(await roles("--add", eventManagement, "--remove", "former_role"), [
      "push_admin",
      eventManagement,
    ]);
    assert.deepEqual(await roles("--add", "push_admin"), ["push_admin", eventManagement]);
    assert.deepEqual(await roles("--remove", "push_admin", eventManagement), []);
    assert.equal((await runCli(["users", "roles", "ann", "--add", "king"], settings)).code, 64);
    for (const wrong of [[], ["--add", "push_admin", "--remove", "push_admin"]])
      assert.equal((await runCli(["users", "roles", "ann", ...wrong], settings)).code, 3);
  });

  it("prints every result as JSON, without the hash", async () => {
    const user = { name: "carl", roles: [], active: true };
    for (const [args, expected] of [
      [["add", "carl"], user],
      [["passwd", "carl"], user],
      [["disable", "carl"], { ...user, active: false }],
      [["enable", "carl"], user],
    ] as const)
      assert.deepEqual(await runJson(["users", ...args], settings, "secret words"), expected);
  });

  it("reports an unknown user", async () => {
    for (const args of [
      ["disable", "nobody"],
      ["show", "nobody"],
      ["roles", "nobody", "--add", "push_admin"],
    ]) {
      const { code, errors } = await runCli(["users", ...args], settings);
      assert.equal(code, 1);
      assert.match(errors, /no user named "nobody"/);
    }
    assert.equal(await users.countDocuments({ user_name: "nobody" }), 0);
  });
});

describe("the command line", () => {
  it("has a help page", async () => {
    const { code, output } = await spawnCli(["--help"], {});
    assert.equal(code, 0);
    for (const word of ["start", "users", "Exit codes"]) assert.match(output, new RegExp(word));
  });

  it("prints its version", async () => {
    const { version } = createRequire(import.meta.url)("../../../package.json") as { version: string };
    assert.deepEqual(await spawnCli(["--version"], {}), { code: 0, output: `${version}\n`, errors: "" });
  });

  it("ends quietly when its output is closed", async () => {
    const child = spawn(process.execPath, [cli, "--help"], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.destroy();
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    await once(child, "close");
    assert.deepEqual([child.exitCode, errors], [0, ""]);
  });

  it("exits with 64 for a usage error", async () => {
    assert.equal((await spawnCli(["stert"], {})).code, 64);
    assert.equal((await spawnCli(["users", "add"], settings)).code, 64);
  });

  it("suggests options that begin like an unknown one", async () => {
    const { code, errors } = await runCli(["topics", "list", "--own", "ann"], {});
    assert.equal(code, 64);
    assert.match(errors, /unknown option '--own'\n\(Did you mean --owner\?\)/);
  });

  it("exits with 78 and lists every fault if the settings are invalid", async () => {
    const { code, errors } = await spawnCli(["start"], { HTTP_PORT: "x", LOG_LEVEL: "y" });
    assert.equal(code, 78);
    assert.match(errors, /HTTP_PORT[^]*LOG_LEVEL/);
  });

  it("exits with 1 and names the address if the port is in use", async () => {
    const { createServer } = await import("node:net");
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    const { code, output } = await spawnCli(["start"], {
      ...settings,
      KAFKA_BROKERS: "127.0.0.1:1",
      HTTP_PORT: String(port),
    });
    server.close();
    assert.equal(code, 1);
    assert.match(output, new RegExp(`EADDRINUSE.*${port}`));
  });
});
