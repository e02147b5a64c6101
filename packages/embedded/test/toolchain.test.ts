import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";

import { installKafka } from "../kafka-jars.ts";
import { kafkaProcess } from "../kafka-process.ts";
import { installSecantus } from "../secantus-package.ts";
import { mongodProcess, secantusProcess } from "../store-process.ts";
import { findJava } from "../toolchain.ts";
import { cleanUpAfter, restrictPath, createFolder, writeScript } from "../../../test/support/local.ts";

const toJavaScript = (version: string): string => `echo 'openjdk version "${version}" 2025-04-15' >&2`;
const toPythonScript = (version: string): string =>
  `printf '%s\\n' /bin/false abi ${version.replace(".", " ")}`;
const createToolOptions = (t: TestContext) => ({ toolsFolder: createFolder(t), report: () => undefined });

describe("on a machine without a tool", () => {
  it("a broker reports that Java is missing", async (t) => {
    restrictPath(t, {});
    assert.match(
      (await kafkaProcess.findMissing()) ?? "",
      /no java on the PATH: install a JDK, 17 or newer, and Maven/,
    );
  });

  it("a broker reports that Java is too old", async (t) => {
    restrictPath(t, { java: toJavaScript("11.0.2") });
    assert.match(
      (await kafkaProcess.findMissing()) ?? "",
      /java is version 11\.0\.2, and Kafka needs 17 or newer/,
    );
    restrictPath(t, { java: toJavaScript("1.8.0_402") });
    assert.match((await kafkaProcess.findMissing()) ?? "", /java is version 1\.8\.0_402/);
  });

  it("a broker reports that Maven is missing", async (t) => {
    restrictPath(t, { java: toJavaScript("17.0.15") });
    assert.equal(await kafkaProcess.findMissing(), undefined);
    const options = { ...createToolOptions(t), dataFolder: createFolder(t) };
    await assert.rejects(kafkaProcess.start(options), /no mvn on the PATH to download .* install Maven/);
  });

  it("a broker passes on the error of Maven", async (t) => {
    restrictPath(t, { mvn: "echo '[INFO] Scanning'; echo '[ERROR] Unknown host'; exit 1" });
    await assert.rejects(
      installKafka(createToolOptions(t)),
      /could not download .*: \[ERROR\] Unknown host\nThis needs network access/,
    );
  });

  it("SecantusDB reports that Python is missing or too old", async (t) => {
    restrictPath(t, {});
    assert.match(
      (await secantusProcess.findMissing()) ?? "",
      /no python3 on the PATH: install Python 3\.10 or newer, with pip/,
    );
    restrictPath(t, { python3: toPythonScript("3.9") });
    assert.match(
      (await secantusProcess.findMissing()) ?? "",
      /python3 is version 3\.9, and SecantusDB needs 3\.10/,
    );
  });

  it("SecantusDB reports that pip is missing, and passes on its error", async (t) => {
    const [withoutPip, failing] = ["without-pip", "failing"].map((name) => join(createFolder(t), name));
    writeScript(withoutPip ?? "", "echo 'No module named pip' >&2; exit 1");
    writeScript(
      failing ?? "",
      '[ "$3" = --version ] || { echo "ERROR: No matching distribution" >&2; exit 1; }',
    );
    await assert.rejects(
      installSecantus({ command: withoutPip ?? "", abi: "abi" }, createToolOptions(t)),
      /python3 has no pip to download SecantusDB .*: install pip/,
    );
    await assert.rejects(
      installSecantus({ command: failing ?? "", abi: "abi" }, createToolOptions(t)),
      /pip could not download SecantusDB .*: ERROR: No matching distribution\nThis needs network access/,
    );
  });

  it("mongod is reported as missing if it is not on the PATH or too old", async (t) => {
    restrictPath(t, {});
    assert.match(
      (await mongodProcess.findMissing()) ?? "",
      /no mongod on the PATH: install MongoDB, 4\.2 or newer/,
    );
    restrictPath(t, { mongod: "echo 'db version v3.6.23'" });
    assert.match(
      (await mongodProcess.findMissing()) ?? "",
      /mongod is version 3\.6\.23: install 4\.2 or newer/,
    );
  });
});

describe("looking for Java", () => {
  it("prefers JAVA_HOME to the PATH, unless it is too old", async (t) => {
    restrictPath(t, { java: toJavaScript("21") });
    const home = createFolder(t);
    process.env["JAVA_HOME"] = home;
    cleanUpAfter(t, () => delete process.env["JAVA_HOME"]);
    const command = join(home, "bin", "java");

    writeScript(command, toJavaScript("17.0.1"));
    assert.deepEqual(await findJava(), { command, version: "17.0.1" });
    writeScript(command, toJavaScript("11"));
    assert.deepEqual(await findJava(), { command: "java", version: "21" });
  });
});
