import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";

import { kafkaJars } from "../../../src/embedded/kafka-jars.ts";
import { kafkaProcess } from "../../../src/embedded/kafka-process.ts";
import { secantusPackage } from "../../../src/embedded/secantus-package.ts";
import { mongodProcess, secantusProcess } from "../../../src/embedded/store-process.ts";
import { findJava } from "../../../src/embedded/toolchain.ts";
import { afterwards, pathWithOnly, temporaryFolder, writeScript } from "./local.ts";

const java = (version: string): string => `echo 'openjdk version "${version}" 2025-04-15' >&2`;
const python = (version: string): string => `printf '%s\\n' /bin/false abi ${version.replace(".", " ")}`;
const emptyTools = (t: TestContext) => ({ toolsFolder: temporaryFolder(t), report: () => undefined });

describe("on a machine that lacks something", () => {
  it("a broker says that there is no Java", async (t) => {
    pathWithOnly(t, {});
    assert.match(
      (await kafkaProcess.missing()) ?? "",
      /no java on the PATH: install a JDK, 17 or newer, and Maven/,
    );
  });

  it("a broker says that Java is too old", async (t) => {
    pathWithOnly(t, { java: java("11.0.2") });
    assert.match(
      (await kafkaProcess.missing()) ?? "",
      /java is version 11\.0\.2, and Kafka needs 17 or newer/,
    );
    pathWithOnly(t, { java: java("1.8.0_402") });
    assert.match((await kafkaProcess.missing()) ?? "", /java is version 1\.8\.0_402/);
  });

  it("a broker says that there is no Maven to download it with", async (t) => {
    pathWithOnly(t, { java: java("17.0.15") });
    assert.equal(await kafkaProcess.missing(), undefined);
    const options = { ...emptyTools(t), dataFolder: temporaryFolder(t) };
    await assert.rejects(kafkaProcess.start(options), /no mvn on the PATH to download .* install Maven/);
  });

  it("a broker says what Maven said when it fails", async (t) => {
    pathWithOnly(t, { mvn: "echo '[INFO] Scanning'; echo '[ERROR] Unknown host'; exit 1" });
    await assert.rejects(
      kafkaJars(emptyTools(t)),
      /could not download .*: \[ERROR\] Unknown host\nIt needs the network/,
    );
  });

  it("SecantusDB says that there is no Python, or that it is too old", async (t) => {
    pathWithOnly(t, {});
    assert.match(
      (await secantusProcess.missing()) ?? "",
      /no python3 on the PATH: install Python 3\.10 or newer, with pip/,
    );
    pathWithOnly(t, { python3: python("3.9") });
    assert.match(
      (await secantusProcess.missing()) ?? "",
      /python3 is version 3\.9, and SecantusDB needs 3\.10/,
    );
  });

  it("SecantusDB says that Python has no pip, and what pip said when it fails", async (t) => {
    const [withoutPip, failing] = ["without-pip", "failing"].map((name) => join(temporaryFolder(t), name));
    writeScript(withoutPip ?? "", "echo 'No module named pip' >&2; exit 1");
    writeScript(
      failing ?? "",
      '[ "$3" = --version ] || { echo "ERROR: No matching distribution" >&2; exit 1; }',
    );
    await assert.rejects(
      secantusPackage({ command: withoutPip ?? "", abi: "abi" }, emptyTools(t)),
      /python3 has no pip to download SecantusDB .* with: install pip/,
    );
    await assert.rejects(
      secantusPackage({ command: failing ?? "", abi: "abi" }, emptyTools(t)),
      /pip could not download SecantusDB .*: ERROR: No matching distribution\nIt needs the network/,
    );
  });

  it("mongod is missing where it is not on the PATH, or too old", async (t) => {
    pathWithOnly(t, {});
    assert.match(
      (await mongodProcess.missing()) ?? "",
      /no mongod on the PATH: install MongoDB, 4\.2 or newer/,
    );
    pathWithOnly(t, { mongod: "echo 'db version v3.6.23'" });
    assert.match((await mongodProcess.missing()) ?? "", /mongod is version 3\.6\.23: install 4\.2 or newer/);
  });
});

describe("looking for Java", () => {
  it("takes the one of JAVA_HOME before that of the PATH, unless it is too old", async (t) => {
    pathWithOnly(t, { java: java("21") });
    const home = temporaryFolder(t);
    process.env["JAVA_HOME"] = home;
    afterwards(t, () => delete process.env["JAVA_HOME"]);
    const command = join(home, "bin", "java");

    writeScript(command, java("17.0.1"));
    assert.deepEqual(await findJava(), { command, version: "17.0.1" });
    writeScript(command, java("11"));
    assert.deepEqual(await findJava(), { command: "java", version: "21" });
  });
});
