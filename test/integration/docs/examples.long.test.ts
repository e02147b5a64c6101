import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";

import { runCommand, installOnce, installWithPip, findPython } from "@topicsync/embedded";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { routerStage } from "../../support/router-scene.ts";
import { toolsFolder } from "../../support/local.ts";

const { stack, admin, routerScene } = routerStage();
const examples = join(import.meta.dirname, "../../../examples");
const folder = mkdtempSync(join(tmpdir(), "topicsync-examples-"));
after(() => {
  rmSync(folder, { recursive: true });
});

/** How an example is started. */
interface Program {
  readonly command: string;
  readonly toArgs: (own: readonly string[]) => readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

const toDigest = (file: string): string =>
  createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 8);

/** The line of the README that starts with a command, with other arguments of the example. */
function readLine(start: string): (own: readonly string[]) => readonly string[] {
  const line = readFileSync(join(examples, "README.md"), "utf8")
    .split("\n")
    .find((one) => one.startsWith(`${start} `));
  const [, ...words] = line?.split("#", 1)[0]?.trim().split(" ") ?? [];
  assert.ok(words.length > 0 && words.at(-1)?.endsWith("announce"), `no line begins with ${start}`);
  // Maven has the arguments in one word.
  return (own) => [...words.slice(0, -1), ...toLastWords(words.at(-1) ?? "", own)];
}

const toLastWords = (last: string, own: readonly string[]): readonly string[] =>
  last === "announce" ? own : [last.replace("announce", own.join(" "))];

/** A copy of an example, so that nothing that it needs is there by chance. */
function copyExample(name: string): string {
  const cwd = join(folder, name);
  cpSync(join(examples, name), cwd, { recursive: true });
  return cwd;
}

const createJavaProgram = (): Program => ({
  command: "mvn",
  toArgs: readLine("mvn"),
  cwd: copyExample("java"),
});

async function createPythonProgram(): Promise<Program> {
  const python = await findPython();
  const requirements = join(examples, "python/requirements.txt");
  const packages = join(toolsFolder, `example-python-${toDigest(requirements)}-${python.abi}`);
  await installOnce(packages, (temporary) =>
    installWithPip({
      python,
      folder: temporary,
      name: "the Python example's packages",
      requirements: ["--requirement", requirements],
    }),
  );
  const PYTHONPATH = [packages, process.env["PYTHONPATH"]].filter(Boolean).join(delimiter);
  const env = { PYTHONPATH, PYTHONDONTWRITEBYTECODE: "1" };
  return { command: python.command, toArgs: readLine("python"), cwd: copyExample("python"), env };
}

async function createNodeProgram(): Promise<Program> {
  const cwd = copyExample("node");
  const { code, stderr } = await runCommand("npm", ["install", "--no-audit", "--no-fund"], { cwd });
  assert.equal(code, 0, stderr);
  return { command: process.execPath, toArgs: readLine("node"), cwd };
}

describe("the examples", () => {
  it("announce topics, send events, and process each copy once", async () => {
    const programs = [createJavaProgram(), await createPythonProgram(), await createNodeProgram()];
    const scene = routerScene();
    // The service creates the others, as in the README. The ids of events name the partition.
    await createKafkaTopics(admin, { topic: scene.events, numPartitions: 1 });
    const clients = programs.map(({ command, toArgs, cwd, env }, index) => {
      const externalId = unique("example");
      const settings = {
        KAFKA_BROKERS: stack.kafka,
        ANNOUNCEMENTS_TOPIC: scene.topic,
        EVENTS_TOPIC: scene.events,
        EGRESS_TOPIC: scene.egress,
        EXTERNAL_ID: externalId,
        PROCESSED_FILE: join(folder, `processed-${index}.txt`),
        ...env,
      };
      return {
        externalId,
        run: async (...own: string[]): Promise<string[]> => {
          const { code, stdout, stderr } = await runCommand(command, toArgs(own), { cwd, env: settings });
          assert.equal(code, 0, `${command} ${own.join(" ")}: ${stderr}`);
          // Maven resets colours that it did not set.
          return stripVTControlCharacters(stdout).trim().split("\n");
        },
      };
    });
    const service = await scene.start();
    await Promise.all(
      clients.map(async ({ externalId, run }) => {
        assert.deepEqual(await run("announce"), [`announced ${externalId}`]);
      }),
    );
    await scene.stored(clients.length);
    for (const { run } of clients) assert.deepEqual(await run("send"), ["sent 2 events"]);

    // Each topic matches the events of all three.
    const ids = Array.from({ length: 2 * clients.length }, (_, offset) => `${scene.events}-0-${offset}`);
    const count = String(ids.length);
    await Promise.all(
      clients.map(async ({ externalId, run }) => {
        const processed = ids.map((id, at) => `processed ${id}: ticket ${(at % 2) + 1}`);
        assert.deepEqual((await run("read", count)).toSorted(), processed.toSorted());
        await admin.resetOffsets({ groupId: externalId, topic: scene.egress, earliest: true });
        const again = await run("read", count);
        assert.deepEqual(again.toSorted(), ids.map((id) => `skipped ${id}`).toSorted(), "delivered again");
      }),
    );
    assert.equal(await service.stop(), 0);
  });
});
