import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { findFreePort } from "@topicsync/embedded";
import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { importCheapHashes } from "../../support/cheap-hashes.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { until } from "../../support/poll.ts";
import { keepLog, keepSecret } from "../../support/secrets.ts";
import { environment } from "../../support/service.ts";
import { sharedStack, testDatabase, testKafka } from "../../support/stack.ts";
import { startHostedProgram } from "./hosted-program.ts";
import { parseBlocks, findPages, root, type Block } from "./pages.ts";
import { isAsShown, runBlocks } from "./shell.ts";

/** Runs first: the other pages use the service that it starts. */
const first = "docs/quick-start.md";
/** The password of the administrator, also typed at password prompts. */
const password = "correct horse battery staple";

const folder = mkdtempSync(join(tmpdir(), "topicsync-guides-"));
const port = await findFreePort();
const { uri, db } = testDatabase(sharedStack().mongodb);
const env: NodeJS.ProcessEnv = {
  ...environment({
    MONGODB_URI: uri,
    KAFKA_BROKERS: sharedStack().kafka,
    HTTP_PORT: String(port),
    AUDIT_LOG: join(folder, "audit.log"),
  }),
  NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} ${importCheapHashes}`,
  PATH: `${join(folder, "bin")}:${join(root, "node_modules/.bin")}:${process.env["PATH"] ?? ""}`,
};
let service: ChildProcess | undefined;
keepSecret(password, "9f86d081884c7d65");

/**
 * Links the repository without hidden files, and puts a `topicsync` on the PATH that is given the password.
 */
function prepare(): Promise<Server> {
  for (const name of readdirSync(root))
    if (!name.startsWith(".") && name !== "dist") symlinkSync(join(root, name), join(folder, name));
  const typed = join(folder, "typed");
  writeFileSync(typed, `${password}\n`);
  return startHostedProgram({ folder, typed });
}

/** Starts the service with the command of the page, and waits until it is ready. */
async function startService({ text }: Block): Promise<void> {
  service = spawn("sh", ["-c", `exec ${text}`], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    // A process group, which is killed as a whole at the end.
    detached: true,
  });
  service.stdout?.setEncoding("utf8").on("data", keepLog);
  service.stderr?.setEncoding("utf8").on("data", keepLog);
  await until("the service is ready", () => isUp("/readyz"));
}

const isUp = async (path: string): Promise<boolean> =>
  (await fetch(`http://localhost:${port}${path}`).catch(() => undefined))?.ok ?? false;

/** Whether no announcement waits. Some pages set the position back; the service reads on within seconds. */
async function isInStep(): Promise<boolean> {
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString("base64")}`;
  const response = await fetch(`http://localhost:${port}/api/topicsync/v1/sync`, {
    headers: { authorization },
  });
  const { partitions } = (await response.json()) as SyncStatus;
  return partitions.length > 0 && partitions.every(({ lagRecords }) => lagRecords === 0);
}

/** Deletes what the previous page stored in the database and in files. */
async function reset(): Promise<void> {
  if (service !== undefined) await until("all announcements are applied", isInStep);
  const kept = [".env", "typed", "audit.log"];
  for (const file of readdirSync(folder, { withFileTypes: true }))
    if (file.isFile() && !kept.includes(file.name)) rmSync(join(folder, file.name));
  const stored = [
    "svc_api_notif_mgmt_topic",
    "svc_api_notif_mgmt_topic_retired",
    "sys_push_notif_app_install",
    "topicsync_replays",
  ];
  await Promise.all(stored.map((name) => db.collection(name).deleteMany({})));
  await db.collection("sys_user").deleteMany({ user_name: { $ne: "admin" } });
  const named = ["Mobile Agent", "ios", "android"];
  for (const name of ["sys_push_application", "sys_push_platform"])
    await db.collection(name).deleteMany({ name: { $nin: named } });
}

/** Runs the commands of a page in order; those after a service is started run in a new shell. */
async function runCommands(blocks: readonly Block[]): Promise<void> {
  const wrong: string[] = [];
  let rest = blocks;
  while (rest.length > 0) {
    const at = rest.findIndex(({ info }) => info === "sh service");
    const outputs = await runBlocks(at === -1 ? rest : rest.slice(0, at), { cwd: folder, env });
    for (const { place, command, shown, actual } of outputs) {
      if (!isAsShown(shown, actual.replaceAll(`127.0.0.1:${port}`, `localhost:${port}`)))
        wrong.push(`${place}\n$ ${command}${actual}`);
    }
    const [starting] = at === -1 ? [] : rest.slice(at);
    if (starting !== undefined) await startService(starting);
    rest = at === -1 ? [] : rest.slice(at + 1);
  }
  assert.equal(wrong.join("\n"), "", "the output differs from the page");
}

/** The kinds of blocks that this test runs. */
const runs = ["sh", "console", "sh service"];
/** Other kinds: text, and commands that need other machines. */
const others = ["json", "yaml", "ini", "js", "ts", "mermaid", "", "sh elsewhere"];

const guides = [first, ...findPages().filter((page) => page !== first)].map((page) => ({
  page,
  blocks: parseBlocks(page, readFileSync(join(root, page), "utf8")).map((block) => ({
    ...block,
    text: block.text.replaceAll(/(?:localhost|127\.0\.0\.1):8080/g, `localhost:${port}`),
  })),
}));

const program = await prepare();
const { admin } = testKafka(sharedStack().kafka);
before(async () => {
  // For the push feedback, which this service does not read.
  await admin.connect();
  for (const topic of ["push-feedback", "push-feedback.dead-letter"])
    await createKafkaTopics(admin, { topic });
});
after(() => {
  program.close();
  if (service?.pid !== undefined && service.exitCode === null) process.kill(-service.pid, "SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

describe("the commands in the documentation", () => {
  for (const { page, blocks } of guides) {
    const running = blocks.filter(({ info }) => runs.includes(info));
    if (running.length === 0) continue;
    it(`of ${page} print what it shows`, async () => {
      await reset();
      await runCommands(running);
    });
  }

  it("leave a service that stops on SIGTERM", async () => {
    assert.ok(service !== undefined);
    const ended = once(service, "exit");
    service.kill("SIGTERM");
    await ended;
    assert.equal(await isUp("/healthz"), false, "the service still runs");
  });
});

describe("a block that is not run", () => {
  const all = guides.flatMap(({ blocks }) => blocks);

  it("is marked as such", () => {
    const unknown = all.filter(({ info }) => !runs.includes(info) && !others.includes(info));
    assert.deepEqual(
      unknown.map(({ place, info }) => `${place}: ${info}`),
      [],
    );
  });

  it("contains no command that could be run, and is valid bash", () => {
    for (const { place, text } of all.filter(({ info }) => info === "sh elsewhere")) {
      assert.doesNotMatch(text, /^(?:topicsync (?!start)|curl )/m, place);
      const { status, stderr } = spawnSync("bash", ["-n"], { input: text, encoding: "utf8" });
      assert.equal(status, 0, `${place}: ${stderr}`);
    }
  });
});
