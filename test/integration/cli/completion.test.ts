import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import { rights } from "../../../schemas/rights.ts";
import { everyRole } from "../../../src/users/user.ts";
import { useFolder } from "../../support/folder.ts";
import { runCli } from "../../support/service.ts";

const run = promisify(execFile);
const folder = useFolder();
const runShell = (shell: string, args: readonly string[]) =>
  run(shell, args, {
    cwd: folder.path,
    env: { ...process.env, PATH: `${folder.path}:${process.env["PATH"] ?? ""}` },
  });
const words = [...everyRole, ...rights];

/** The completions of the last word of each line. */
const lines: readonly (readonly [line: readonly string[], expected: readonly string[]])[] = [
  [["st"], ["start", "status"]],
  [["top"], ["topics"]],
  [
    ["keys", ""],
    ["create", "list", "delete", "help"],
  ],
  [["users", "a"], ["add"]],
  [["topics", "list", "--so"], ["--source"]],
  [
    ["topics", "list", "--source", ""],
    ["http", "announcement"],
  ],
  [["topics", "list", "--json", "--source", "a"], ["announcement"]],
  [["topics", "add", "--name", "list", "--ext"], ["--external-id"]],
  [
    ["platforms", "rule", "ios", ""],
    ["apns", "fcm", "webpush", "none"],
  ],
  [["platforms", "rule", ""], []],
  [["users", "add", "ann", "--role", ""], words],
  [["nothing", ""], []],
  [["announce", ""], [":files"]],
  [["topics", "import", "x", "a"], [":files"]],
  [["topics", "export", "--out", ""], [":files"]],
  [["pick", ""], [":files"]],
  [["topics", "list", "--name", ""], []],
];

/** Some of them, and a line with a command that must not be executed. */
const typedLines: typeof lines = [
  [["users", "a"], ["add"]],
  [["topics", "show", "$(touch pwned)", "--js"], ["--json"]],
  [["nothing", ""], []],
];

describe("shell completion", () => {
  before(async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, output, errors } = await runCli(["completion", shell], {});
      assert.equal(code, 0, errors);
      folder.createFile(`topicsync.${shell}`, output);
    }
    folder.createFile("a file.ndjson", "");
    const program = join(import.meta.dirname, "../../../src/cli.ts");
    folder.createFile("topicsync", `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
    chmodSync(join(folder.path, "topicsync"), 0o755);
  });
  after(() => {
    assert.equal(existsSync(join(folder.path, "pwned")), false, "a typed command was executed");
  });

  it("offers commands, options, values and files", async () => {
    for (const [line, expected] of lines) assert.deepEqual(await ask(line), expected, line.join(" "));
  });

  it("offers the values of --option=value, which bash splits into three words", async () => {
    assert.deepEqual(await ask(["topics", "list", "--source=h"]), ["--source=http"]);
    assert.deepEqual(await ask(["topics", "list", "--source", "=", "h"]), ["http"]);
    assert.deepEqual(await ask(["topics", "list", "--source", "="]), ["http", "announcement"]);
  });

  it("works in bash", async () => {
    for (const [line, expected] of typedLines) {
      const script = `set -u; source ./topicsync.bash; source ./topicsync.bash
        COMP_WORDS=(topicsync "$@"); COMP_CWORD=$#; _topicsync 2>/dev/null
        printf '%s\\n' "\${COMPREPLY[@]:-}"`;
      const { stdout } = await runShell("bash", ["--norc", "-c", script, "bash", ...line]);
      assert.deepEqual(sortLines(stdout), [...expected].toSorted(), line.join(" "));
    }
  });

  it("leaves file names to bash where a file is expected, and nowhere else", async () => {
    const script = `source ./topicsync.bash
      compopt() { echo "no files"; }
      COMP_WORDS=(topicsync "$@"); COMP_CWORD=$#; _topicsync; echo "\${#COMPREPLY[@]} words"`;
    const completeFiles = async (...line: string[]) =>
      (await runShell("bash", ["--norc", "-c", script, "bash", ...line])).stdout;
    assert.equal(await completeFiles("announce", ""), "0 words\n");
    assert.equal(await completeFiles("users", "add", ""), "no files\n0 words\n");
  });

  for (const [shell, complete] of Object.entries({ zsh: completeInZsh, fish: completeInFish })) {
    // Not installed everywhere.
    if (!isInstalled(shell)) continue;
    it(`works in ${shell}`, async () => {
      const completions = await complete(typedLines.map(([line]) => line));
      for (const [index, [line, expected]] of typedLines.entries())
        assert.deepEqual(completions[index], expected.toSorted(), `${shell}: ${line.join(" ")}`);
    });
  }
});

/** The completions of the last word, without their descriptions. */
async function ask(line: readonly string[]): Promise<string[]> {
  const { code, output, errors } = await runCli(["complete", ...line], {});
  assert.equal(code, 0, errors);
  return output
    .split("\n")
    .slice(0, -1)
    .map((one) => one.replace(/\t.*/, ""));
}

const sortLines = (output: string): string[] =>
  output
    .split("\n")
    .filter((line) => line !== "")
    .toSorted();

function isInstalled(shell: string): boolean {
  try {
    execFileSync(shell, ["-c", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

async function completeInFish(asked: readonly (readonly string[])[]): Promise<string[][]> {
  const ask = async (line: readonly string[]): Promise<string[]> => {
    const script = "source ./topicsync.fish; complete -C $argv[1]";
    const typed = ["topicsync", ...line.map((word) => (word.includes(" ") ? `'${word}'` : word))].join(" ");
    const { stdout } = await runShell("fish", ["--no-config", "-c", script, typed]);
    return sortLines(stdout.replaceAll(/\t.*/g, ""));
  };
  return Promise.all(asked.map(ask));
}

/**
 * Types the lines into zsh on a terminal, with a function that prints the completions instead of adding them.
 */
async function completeInZsh(asked: readonly (readonly string[])[]): Promise<string[][]> {
  folder.createFile(
    "setup.zsh",
    `PROMPT=; autoload -Uz compinit; compinit -u -d ./zcompdump; source ./topicsync.zsh
     compadd() { local -a kept; builtin compadd -A kept "$@"; print -rl -- $kept >> ./offered.$n; builtin compadd "$@" }
     n=0
     ask() { : > ./offered.$n; zle complete-word; BUFFER=; print -r -- "answered-$((n++))." }
     zle -N ask; bindkey '^I' ask
     print -r -- "is ready."`,
  );
  const typing = asked.map(
    (line, index) => `zpty -w -n z "$lines[${index + 1}]"$'\t'; zpty -r z said '*answered-${index}.*'`,
  );
  const script = `zmodload zsh/zpty; lines=("$@"); zpty z zsh -f -i
    zpty -w z 'source ./setup.zsh'; zpty -r z said '*is ready.*'
    ${typing.join("\n")}
    zpty -d z`;
  const typed = asked.map((line) =>
    ["topicsync", ...line.map((word) => (word.includes(" ") ? `'${word}'` : word))].join(" "),
  );
  await runShell("zsh", ["-f", "-c", script, "zsh", ...typed]);
  return asked.map((_, index) => [
    ...new Set(sortLines(readFileSync(join(folder.path, `offered.${index}`), "utf8"))),
  ]);
}
