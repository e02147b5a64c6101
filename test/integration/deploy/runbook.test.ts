import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

import { exitCodes } from "@topicsync/lib/errors";
import { readAlertNames, readRunbookLinks } from "./alerts.ts";
import { findLogLines } from "./log-lines.ts";

const runbook = readFileSync(new URL("../../../docs/runbook.md", import.meta.url), "utf8");

const logLines = findLogLines();

/** Returns the text under a heading, up to the next one of the same or a higher level. */
function getSection(heading: string): string {
  const level = heading.indexOf(" ");
  const [, text = ""] = runbook.split(`\n${heading}\n`);
  return text.split(new RegExp(`^#{1,${level}} `, "m"), 1)[0] ?? "";
}

/** Returns the first column of a table, without backticks. */
const getFirstColumn = (text: string): string[] =>
  text.split("\n").flatMap((line) => /^\| ([^|]+) \|/.exec(line)?.[1]?.replaceAll("`", "") ?? []);

describe("the runbook", () => {
  it("has a section for every alert, which the alert links to", () => {
    const names = readAlertNames();
    assert.ok(names.length > 0);
    assert.deepEqual(
      readRunbookLinks(),
      names.map((name) => `docs/runbook.md#${name.toLowerCase()}`),
    );
    for (const name of names)
      assert.ok(getSection(`### ${name}`).trim().length > 0, `${name} has no section`);
  });

  it("has no section for an alert that does not exist", () => {
    const sections = [...getSection("## Alerts").matchAll(/^### (.+)$/gm)].map(([, name]) => name);
    assert.deepEqual(sections.toSorted(), readAlertNames().toSorted());
  });

  it("explains every exit code", () => {
    const explained = getFirstColumn(getSection("## Exit codes")).flatMap((codes) =>
      codes.split(", ").map(Number),
    );
    for (const [name, code] of Object.entries(exitCodes))
      assert.ok(explained.includes(code), `${code} (${name}) is not among the exit codes`);
  });

  it("explains every log line at warn, error and fatal", () => {
    const unexplained = logLines.flatMap(({ place, texts }) =>
      texts.every((parts) =>
        getFirstColumn(getSection("## Log lines")).some((line) => includesAll(line, parts)),
      )
        ? []
        : [place],
    );
    assert.deepEqual(unexplained, [], "log lines missing in the runbook");
    // Explained in prose: their text is not in the source.
    assert.deepEqual(
      logLines.flatMap(({ place, texts }) => (texts.length === 0 ? [place] : [])),
      ["src/cli/commands/start.ts: getErrorMessage(error)"],
    );
  });

  it("explains no log line that does not exist", () => {
    const written = logLines.flatMap(({ texts }) => texts);
    for (const line of [
      ...getFirstColumn(getSection("### error")),
      ...getFirstColumn(getSection("### warn")),
    ]) {
      if (line === "line" || /^-+$/.test(line) || line.startsWith("POST /api/… 503")) continue;
      assert.ok(
        written.some((parts) => includesAll(line, parts)),
        `nothing writes: ${line}`,
      );
    }
  });
});

const includesAll = (line: string, parts: readonly string[]): boolean =>
  parts.every((part) => line.includes(part));
