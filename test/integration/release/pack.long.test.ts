/**
 * The rehearsal of a release: the package is published to a registry on this machine, and installed from
 * there in an empty folder, where the quick start is followed.
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { before, describe, it } from "node:test";
import { promisify } from "node:util";

import { findFreePort } from "@topicsync/embedded";
import { mskSigner } from "@topicsync/kafka";
import { parseBlocks, root } from "../docs/pages.ts";
import { isAsShown, runBlocks } from "../docs/shell.ts";
import { useFolder } from "../../support/folder.ts";
import { call } from "../../support/http.ts";
import { startIamBroker } from "../../support/iam-broker.ts";
import { until } from "../../support/poll.ts";
import { noteShrinkwrap, startRegistry } from "../../support/registry.ts";
import { createEvent, defineTopic, routerStage } from "../../support/router-scene.ts";
import { stage } from "../../support/scene.ts";
import { keepLog, keepSecret } from "../../support/secrets.ts";
import { environment, startTopicsync } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";
import { toolsFolder } from "../../support/local.ts";

const installation = useFolder();
const { path: folder } = installation;
const { scene } = stage();
const own = scene();
const iamBroker = await startIamBroker();
const { producer, routerScene } = routerStage({ ...sharedStack(), kafka: iamBroker.address });
const password = "correct horse battery staple";
keepSecret(password);

const run = promisify(execFile);
const npm = (cwd: string, ...args: string[]) =>
  run("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], { cwd, env: environment({}) });
const read = (path: string): string => readFileSync(path, "utf8");
const program = join(folder, "node_modules/.bin/topicsync");
const installed = join(folder, "node_modules/topicsync");

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}
interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity?: string }>>;
}
let packed: Packed;
/** The packages in the folder before the signer was installed. */
let besides: readonly string[];

/** Asserts that the packages in a folder are those of the lockfile. */
function assertLocked(target: string, { packages }: Lockfile): void {
  const found = Object.keys(packages).filter((name) => name !== "" && existsSync(join(target, name)));
  assert.ok(found.length > 100, String(found.length));
  for (const name of found) {
    const { version } = JSON.parse(read(join(target, name, "package.json"))) as { version: string };
    assert.equal(version, packages[name]?.version, name);
  }
}

before(async () => {
  const [registry, { stdout }] = await Promise.all([
    startRegistry(),
    npm(root, "pack", "--json", "--pack-destination", folder),
  ]);
  // The output of scripts comes first.
  [packed] = JSON.parse(stdout.slice(stdout.indexOf("[\n"))) as [Packed];
  installation.createFile("package.json", "{}");
  const { url } = registry;
  // npm does not publish without a token, whatever it is.
  installation.createFile(".npmrc", `registry=${url}\n${url.replace("http:", "")}:_authToken=anybody\n`);
  await npm(folder, "publish", "--ignore-scripts", join(folder, packed.filename));
  noteShrinkwrap(registry.folder);
  // Many installations forbid scripts of packages; the package must not need any.
  const install = (name: string) => npm(folder, "install", "--prefer-offline", "--ignore-scripts", name);
  await install("topicsync");
  besides = readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."));
  // The registry ends with this hook.
  await install(mskSigner);
});

describe("the published package", () => {
  it("contains the program, its types, the console and the documents, and no sources, tests or tools", () => {
    const paths = packed.files.map(({ path }) => path);
    for (const path of ["package.json", "README.md", "LICENSE", "CHANGELOG.md", "dist/cli.js"])
      assert.ok(paths.includes(path), path);
    assert.ok(paths.includes("dist/types/filters/picker/index.d.ts"), "the library's types");
    assert.ok(paths.includes("dist/console/index.html"), "the console");
    const ours =
      /^(?:dist|examples|deploy)\/|^docs\/.*\.(?:md|json|pml|png)$|^(?:package|npm-shrinkwrap)\.json$|^(?:.*\/)?[A-Z]+(?:\.md)?$/;
    assert.deepEqual(
      paths.filter((path) => !ours.test(path)),
      [],
    );
    assert.deepEqual(
      paths.filter((path) =>
        /(?:^|\/)(?:test|bench|\.topicsync|\.env)(?:\/|$)(?!.*README\.md$)|^deploy\/.*\.ts$/.test(path),
      ),
      [],
    );
  });

  it("contains what its documents link to", () => {
    const paths = new Set(packed.files.map(({ path }) => path));
    const links = [...paths]
      .filter((path) => path.endsWith(".md"))
      .flatMap((page) =>
        Array.from(read(join(installed, page)).matchAll(/\]\((?![a-z]+:)([^)\s#]+)/g), ([, target = ""]) =>
          relative(installed, join(installed, dirname(page), target)),
        ),
      );
    assert.ok(links.length > 200, String(links.length));
    assert.deepEqual(
      links.filter((path) => !existsSync(join(installed, path))),
      [],
    );
  });

  it("installs the locked dependencies, without development's and without addresses of registries", () => {
    const shrinkwrap = read(join(installed, "npm-shrinkwrap.json"));
    assert.doesNotMatch(shrinkwrap, /"resolved"|"dev"|127\.0\.0\.1/);
    const { packages } = JSON.parse(shrinkwrap) as Lockfile;
    const locked = JSON.parse(read(join(root, "package-lock.json"))) as Lockfile;
    const names = Object.keys(packages).filter((name) => name !== "");
    assert.ok(names.length > 100, String(names.length));
    for (const name of names) {
      assert.deepEqual(packages[name]?.integrity, locked.packages[name]?.integrity, name);
      assert.match(packages[name]?.integrity ?? "", /^sha512-/, name);
    }
    assertLocked(installed, { packages });
    assert.deepEqual(besides, ["topicsync"]);
    assert.equal(existsSync(join(root, "npm-shrinkwrap.json")), false, "it stays in the checkout");
  });

  it("is installed from the archive with the locked dependencies as the systemd unit says", async () => {
    const prefix = join(folder, "opt");
    const unit = read(join(installed, "deploy/systemd/topicsync.service"));
    const commands = Array.from(unit.matchAll(/^# {3}((?:npm install|\(cd) .*)$/gm), ([, one = ""]) =>
      one
        .replaceAll("/opt/topicsync", prefix)
        .replace("./topicsync-0.1.0.tgz", join(folder, packed.filename)),
    );
    assert.equal(commands.length, 2);
    for (const command of commands) await run("sh", ["-c", command], { cwd: folder, env: environment({}) });
    const target = join(prefix, "lib/node_modules/topicsync");
    assertLocked(target, JSON.parse(read(join(target, "npm-shrinkwrap.json"))) as Lockfile);
    const { stdout } = await run(join(prefix, "bin/topicsync"), ["--version"]);
    assert.match(stdout, /0\.1\.0/);
  });

  it("has a help page, which names a document in it, and exports a library", async () => {
    const { stdout } = await run(program, ["--help"]);
    assert.match(stdout, /^Usage: topicsync/);
    const [document = ""] = /docs\/\S+\.md/.exec(stdout) ?? [];
    assert.ok(existsSync(join(installed, document)), document);
    const script = `import { createPicker } from "topicsync/picker"; process.stdout.write(typeof createPicker);`;
    const imported = await run(process.execPath, ["--input-type=module", "--eval", script], { cwd: folder });
    assert.equal(imported.stdout, "function");
  });

  it("keeps its compiled code in its own folder", async () => {
    const env = { ...environment({}), NODE_COMPILE_CACHE: undefined };
    await run(process.execPath, [join(installed, "dist/cli.js"), "--help"], { env });
    const compiled = readdirSync(join(installed, "dist/compile-cache"), { recursive: true });
    assert.ok(compiled.length > 10, String(compiled.length));
  });

  it("installs nothing that only the embedded stack or the types need, and says how to get it", async () => {
    for (const name of ["testcontainers", "json-schema-to-ts", "typescript"])
      assert.equal(existsSync(join(installed, "node_modules", name)), false, name);
    const started = run(program, ["start"], {
      cwd: folder,
      env: environment({ TOPICSYNC_STACK: "containers", HTTP_PORT: "0" }),
    });
    await assert.rejects(started, ({ stdout, stderr }: { stdout: string; stderr: string }) =>
      `${stdout}${stderr}`.includes("npm install testcontainers"),
    );
  });

  it("has what the embedded stack compares its downloads with", () => {
    for (const name of ["kafka.sha256", "secantusdb.txt"])
      assert.equal(read(join(installed, "dist", name)), read(join(root, "packages/embedded", name)));
  });

  it("syncs announcements and serves the console", async () => {
    const service = await startTopicsync(own.settings, join(installed, "dist/cli.js"));
    await service.ready();
    await own.announce(0, 10);
    await own.inStep();
    const { status, text } = await call(`${service.url}/console`, { method: "GET", as: undefined });
    assert.equal(status, 200);
    assert.match(text, /<title>topicsync<\/title>/);
    assert.equal(await service.stop(), 0);
  });

  describe("with AWS MSK's signer next to it", () => {
    const program = join(installed, "dist/cli.js");

    it("logs in with AWS credentials: the sync, the router and dead letters work", async () => {
      const at = routerScene(iamBroker.settings);
      await at.createTopics();
      const service = await startTopicsync(at.settings, program);
      await service.ready();
      await at.send(defineTopic("wanted", "eventType=A"));
      await until("the topic is stored", async () => (await at.count()) === 1);
      await producer.send({ topic: at.topic, messages: [{ key: "bad", value: "no definition" }] });
      await at.produce({ value: createEvent("A") }, { value: createEvent("B") }, { value: createEvent("A") });
      await at.routed();
      await until("the dead letter is sent", async () => (await at.deadLetters()) === 1);
      assert.equal(await service.stop(), 0);
    });

    for (const [title, overrides, expected] of [
      [
        "the broker rejects them",
        { AWS_SECRET_ACCESS_KEY: "another one" },
        /invalid_token.*: check the AWS credentials and AWS_REGION/,
      ],
      [
        "there are none",
        { AWS_ACCESS_KEY_ID: "", AWS_SHARED_CREDENTIALS_FILE: join(folder, "none") },
        /no token for AWS: .*; give this process AWS credentials/,
      ],
    ] as const)
      it(`names AWS credentials as the reason if ${title}`, async () => {
        const { settings } = routerScene({ ...iamBroker.settings, ...overrides });
        const service = await startTopicsync(settings, program);
        await until("the reason is logged", () =>
          Promise.resolve(service.log.some(({ reason }) => expected.test(String(reason)))),
        );
        await service.stop();
      });
  });

  it("does what the quick start shows", async (t) => {
    const page = "docs/quick-start.md";
    const port = await findFreePort();
    // With an embedded broker and store, whose downloads are those of this repository.
    mkdirSync(join(folder, ".topicsync"));
    symlinkSync(toolsFolder, join(folder, ".topicsync/tools"));
    const env = environment({ TOPICSYNC_STACK: "local", HTTP_PORT: String(port), AUDIT_LOG: "off" });
    const shell = { cwd: folder, env };
    const blocks = parseBlocks(page, read(join(root, page)))
      .filter(({ info }) => ["sh", "console", "sh service"].includes(info))
      .map((block) => ({
        ...block,
        text: block.text
          .replaceAll(/(?:localhost|127\.0\.0\.1):8080/g, `localhost:${port}`)
          // What a checkout has.
          .replace("npm start", "npx topicsync start")
          .replace("node_modules/.bin/node src/cli.ts", "node_modules/.bin/topicsync")
          .replace("node_modules/.bin/node demo/", `${process.execPath} ${join(root, "demo")}/`),
      }));
    const starting = blocks.findIndex(({ info }) => info === "sh service");
    await runBlocks(blocks.slice(0, starting), shell);
    const service = spawn("sh", ["-c", `exec ${blocks[starting]?.text ?? ""}`], {
      ...shell,
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    service.stdout.setEncoding("utf8").on("data", keepLog);
    // Its output closes when the service has ended; npx ends before.
    const closed = once(service, "close");
    t.after(async () => {
      if (service.pid !== undefined) process.kill(-service.pid, "SIGTERM");
      await closed;
    });
    await until("the service is ready", async () => {
      const response = await fetch(`http://localhost:${port}/readyz`).catch(() => undefined);
      return response?.ok;
    });
    const outputs = await runBlocks(blocks.slice(starting + 1), shell);
    const wrong = outputs.filter(
      ({ shown, actual }) => !isAsShown(shown, actual.replaceAll(`127.0.0.1:${port}`, `localhost:${port}`)),
    );
    assert.deepEqual(wrong, []);
  });
});
