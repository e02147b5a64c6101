/** What the embedded stack downloads is what was pinned: the real downloads, and others in their place. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { installKafka, kafkaVersion } from "../kafka-jars.ts";
import { installSecantus, secantusVersion } from "../secantus-package.ts";
import { findPython } from "../toolchain.ts";
import { createFolder, extendPath, toolsFolder, writeScript } from "../../../test/support/local.ts";

const report = (): void => undefined;
const requirements = readFileSync(
  new URL("../../../packages/embedded/secantusdb.txt", import.meta.url),
  "utf8",
);

describe("the digests of the embedded stack", () => {
  it("are those of Maven Central and PyPI", async () => {
    await installKafka({ toolsFolder, report });
    await installSecantus(await findPython(), { toolsFolder, report });
  });

  for (const change of ["changed", "added", "missing"])
    it(`reject a jar that is ${change} after the download`, async (t) => {
      const jars = await installKafka({ toolsFolder, report });
      const tools = createFolder(t);
      const folder = join(tools, `kafka-${kafkaVersion}`);
      mkdirSync(folder);
      for (const name of readdirSync(jars)) symlinkSync(join(jars, name), join(folder, name));
      const [known = ""] = readdirSync(folder).filter((one) => one.startsWith("kafka-clients-"));
      const name = change === "added" ? "another.jar" : known;
      if (change !== "added") unlinkSync(join(folder, name));
      if (change !== "missing") writeFileSync(join(folder, name), "another program");
      await assert.rejects(installKafka({ toolsFolder: tools, report }), (error: Error) =>
        error.message.startsWith(`${name} of Apache Kafka ${kafkaVersion} differ`),
      );
    });

  it("reject what a mirror of Maven Central or its local repository has instead, and keep nothing of it", async (t) => {
    extendPath(t, {
      mvn: 'for arg; do case "$arg" in -DoutputDirectory=*) echo x > "${arg#*=}/kafka-clients-1.jar";; esac; done',
    });
    const tools = createFolder(t);
    await assert.rejects(
      installKafka({ toolsFolder: tools, report }),
      /kafka_2\.13-.*kafka-clients-1\.jar of Apache Kafka .* differ from those of Maven Central/,
    );
    assert.deepEqual(readdirSync(tools), []);
  });

  it("are required of each file that pip installs", async (t) => {
    const python = join(createFolder(t), "python3");
    const log = join(createFolder(t), "arguments");
    writeScript(python, `echo "$@" >> ${log}`);
    await installSecantus({ command: python, abi: "abi" }, { toolsFolder: createFolder(t), report });
    const [, file = ""] =
      /--no-deps --require-hashes --requirement (\S+)$/m.exec(readFileSync(log, "utf8")) ?? [];
    assert.ok(existsSync(file), file);
    const packages = requirements.split("\n").filter((line) => /^[a-z]/.test(line));
    assert.ok(packages.includes(`secantusdb==${secantusVersion} \\`), packages.join("\n"));
    for (const one of requirements.split(/^(?=[a-z])/m).slice(1))
      assert.match(
        one,
        /^[\w-]+==\S+ (?:; python_full_version [<>=]+ '3\.\d+(?:\.\*)?' )?\\\n(?: {4}--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+$/,
      );
  });
});
