import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import { Command, Option } from "commander";

import { writers } from "../../../src/cli/completion/command.ts";
import { rights } from "../../../schemas/rights.ts";
import { everyRole } from "../../../src/users/user.ts";
import { useFolder } from "../../support/folder.ts";
import { runCli } from "../../support/service.ts";

const run = promisify(execFile);
const folder = useFolder();
const words = [...everyRole, ...rights];

/** The completions of the last word of each line, the same in every shell. */
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
  [["topics", "show", "$(touch pwned)", "--js"], ["--json"]],
  [
    ["completion", ""],
    ["bash", "zsh", "fish"],
  ],
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
  });
  after(() => {
    assert.equal(existsSync(join(folder.path, "pwned")), false, "a typed command was executed");
  });

  it("works in bash", async () => {
    for (const [line, expected] of lines) {
      const script = `set -u; source ./topicsync.bash; source ./topicsync.bash
        COMP_WORDS=(topicsync "$@"); COMP_CWORD=$#; _topicsync 2>/dev/null
        printf '%s\\n' "\${COMPREPLY[@]:-}"`;
      const { stdout } = await run("bash", ["--norc", "-c", script, "bash", ...line], { cwd: folder.path });
      assert.deepEqual(sortLines(stdout), [...expected].toSorted(), line.join(" "));
    }
  });

  it("works in bash with --option=value, which bash splits", async () => {
    const script = `source ./topicsync.bash
      COMP_WORDS=(topicsync topics list --source = h); COMP_CWORD=5; _topicsync 2>/dev/null; echo "\${COMPREPLY[@]}"
      COMP_WORDS=(topicsync topics list --source =); COMP_CWORD=4; _topicsync 2>/dev/null; echo "\${COMPREPLY[@]}"`;
    const { stdout } = await run("bash", ["--norc", "-c", script], { cwd: folder.path });
    assert.equal(stdout, "http\nhttp announcement\n");
  });

  it("leaves file names to bash where a file is expected, and nowhere else", async () => {
    const script = `source ./topicsync.bash
      compopt() { echo "no files"; }
      COMP_WORDS=(topicsync "$@"); COMP_CWORD=$#; _topicsync; echo "\${#COMPREPLY[@]} words"`;
    const completeFiles = async (...line: string[]) =>
      (await run("bash", ["--norc", "-c", script, "bash", ...line], { cwd: folder.path })).stdout;
    for (const line of [
      ["announce", ""],
      ["topics", "import", "x", "a"],
      ["topics", "export", "--out", ""],
      ["pick", ""],
    ])
      assert.equal(await completeFiles(...line), "0 words\n", line.join(" "));
    for (const line of [
      ["topics", "show", ""],
      ["topics", "list", "--name", ""],
      ["users", "add", ""],
    ])
      assert.equal(await completeFiles(...line), "no files\n0 words\n", line.join(" "));
  });

  for (const [shell, complete] of Object.entries({ zsh: completeInZsh, fish: completeInFish })) {
    // Not installed everywhere.
    if (!isInstalled(shell)) continue;
    it(`works in ${shell}`, async () => {
      const completions = await complete(lines.map(([line]) => line));
      for (const [index, [line, expected]] of lines.entries())
        assert.deepEqual(completions[index], expected.toSorted(), `${shell}: ${line.join(" ")}`);
    });
  }
});

describe("a completion script", () => {
  it("escapes descriptions", async () => {
    const program = new Command("topicsync");
    const description = `it's $(touch pwned) \`touch pwned\` [a]:b \\ "c"`;
    program
      .command("one")
      .description(description)
      .addOption(new Option("--option <value>", description).choices(["a", "b"]));
    program.command("two").description(description);
    for (const shell of ["bash", "zsh", "fish"] as const) {
      if (!isInstalled(shell)) continue;
      folder.createFile(`hostile.${shell}`, writers[shell](program));
      await run(shell, ["-n", `hostile.${shell}`], { cwd: folder.path });
    }
    const script = `source ./hostile.bash; COMP_WORDS=(topicsync ""); COMP_CWORD=1; _topicsync 2>/dev/null; echo "\${COMPREPLY[@]}"`;
    const { stdout } = await run("bash", ["--norc", "-c", script], { cwd: folder.path });
    assert.equal(stdout, "one two help\n");
    assert.equal(existsSync(join(folder.path, "pwned")), false);
  });

  it("offers only choices that are single words to a shell", () => {
    const program = new Command("topicsync").addOption(new Option("--o <v>").choices(["a b"]));
    for (const shell of ["bash", "zsh", "fish"] as const)
      assert.throws(() => writers[shell](program), /not a single shell word/);
  });
});

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
    const { stdout } = await run("fish", ["--no-config", "-c", script, typed], { cwd: folder.path });
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
  await run("zsh", ["-f", "-c", script, "zsh", ...typed], { cwd: folder.path });
  return asked.map((_, index) => [
    ...new Set(sortLines(readFileSync(join(folder.path, `offered.${index}`), "utf8"))),
  ]);
}
