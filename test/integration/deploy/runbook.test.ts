import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

import { exitCodes } from "../../../src/lib/errors.ts";
import { namesOfAlerts, runbookLinks } from "./alerts.ts";
import { logLines } from "./log-lines.ts";

const runbook = readFileSync(new URL("../../../docs/runbook.md", import.meta.url), "utf8");

/** The text under a heading, up to the next one of the same level or above. */
function section(heading: string): string {
  const level = heading.indexOf(" ");
  const [, text = ""] = runbook.split(`\n${heading}\n`);
  return text.split(new RegExp(`^#{1,${level}} `, "m"), 1)[0] ?? "";
}

/** What stands in the first column of a table, without the quotes of code. */
const firstColumn = (text: string): string[] =>
  text.split("\n").flatMap((line) => /^\| ([^|]+) \|/.exec(line)?.[1]?.replaceAll("`", "") ?? []);

describe("the runbook", () => {
  it("has a section for every alert, which the alert links to", () => {
    const names = namesOfAlerts();
    assert.ok(names.length > 0);
    assert.deepEqual(
      runbookLinks(),
      names.map((name) => `docs/runbook.md#${name.toLowerCase()}`),
    );
    for (const name of names) assert.ok(section(`### ${name}`).trim().length > 0, `${name} has no section`);
  });

  it("has no section for an alert that is not there", () => {
    const sections = [...section("## Alerts").matchAll(/^### (.+)$/gm)].map(([, name]) => name);
    assert.deepEqual(sections.toSorted(), namesOfAlerts().toSorted());
  });

  it("tells of every exit code", () => {
    const told = firstColumn(section("## Exit codes")).flatMap((codes) => codes.split(", ").map(Number));
    for (const [name, code] of Object.entries(exitCodes))
      assert.ok(told.includes(code), `${code} (${name}) is not among the exit codes`);
  });

  it("tells of every line at warn, error and fatal that the sources can write", () => {
    const lines = logLines();
    const untold = lines.flatMap(({ place, texts }) =>
      texts.every((parts) => firstColumn(section("## Log lines")).some((line) => saysAll(line, parts)))
        ? []
        : [place],
    );
    assert.deepEqual(untold, [], "the runbook's log lines lack these");
    // Told of in words: what stands in these lines is decided elsewhere.
    assert.deepEqual(
      lines.flatMap(({ place, texts }) => (texts.length === 0 ? [place] : [])),
      ["src/cli/run-service.ts: getErrorMessage(error)"],
    );
  });

  it("tells of no line that the sources do not write", () => {
    const written = logLines().flatMap(({ texts }) => texts);
    for (const line of [...firstColumn(section("### error")), ...firstColumn(section("### warn"))]) {
      if (line === "line" || /^-+$/.test(line) || line.startsWith("POST /api/… 503")) continue;
      assert.ok(
        written.some((parts) => saysAll(line, parts)),
        `nothing writes: ${line}`,
      );
    }
  });
});

const saysAll = (line: string, parts: readonly string[]): boolean =>
  parts.every((part) => line.includes(part));
