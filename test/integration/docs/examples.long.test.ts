import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, describe, it } from "node:test";

import { installJars } from "../../../bench/support/maven.ts";
import { runCommand } from "../../../src/embedded/command.ts";
import { installOnce } from "../../../src/embedded/install.ts";
import { installWithPip } from "../../../src/embedded/secantus-package.ts";
import { findJava, findPython } from "../../../src/embedded/toolchain.ts";
import { unique } from "../../support/names.ts";
import { routerStage } from "../../support/router-scene.ts";
import { toolsFolder } from "../../unit/embedded/local.ts";

const { stack, admin, routerScene } = routerStage();
const examples = join(import.meta.dirname, "../../../examples");
const folder = mkdtempSync(join(tmpdir(), "topicsync-examples-"));
after(() => {
  rmSync(folder, { recursive: true });
});

/** How an example is started. */
interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const toDigest = (file: string): string =>
  createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 8);

async function createJavaProgram(): Promise<Program> {
  const project = join(examples, "java");
  const name = `example-java-${toDigest(join(project, "pom.xml"))}`;
  const jars = await installJars({ name, project, properties: {} }, { toolsFolder, report: () => undefined });
  const { command } = await findJava();
  return { command, args: ["-cp", join(jars, "*"), join(project, "src/main/java/Example.java")] };
}

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
  return { command: python.command, args: [join(examples, "python/example.py")], env };
}

const createNodeProgram = (): Program => ({
  command: process.execPath,
  args: [join(examples, "node/example.js")],
});

describe("the examples", () => {
  it("announce topics, send events, and process each copy once", async () => {
    const programs = [await createJavaProgram(), await createPythonProgram(), createNodeProgram()];
    const scene = routerScene();
    await scene.createTopics();
    const clients = programs.map(({ command, args, env }, index) => {
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
          const { code, stdout, stderr } = await runCommand(command, [...args, ...own], { env: settings });
          assert.equal(code, 0, `${command} ${own.join(" ")}: ${stderr}`);
          return stdout.trim().split("\n");
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
