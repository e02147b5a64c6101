import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { it } from "node:test";

import { getHeaderText } from "@topicsync/kafka";
import { deadLetter, deadLetterStage } from "../../support/dead-letter-scene.ts";
import { cli, environment } from "../../support/service.ts";

const { createScene } = await deadLetterStage();

it("a list of 2,000 dead letters of a topic ends with a closed pipe; all are replayed in order", async () => {
  const { settings, topic, deadLetters, createTopics, readRecords, sendLetters } = createScene();
  await createTopics();
  const letters = Array.from({ length: 2_000 }, (_, i) =>
    deadLetter(topic, i, { key: "busy", value: "x".repeat(1_000) }),
  );
  for (let at = 0; at < letters.length; at += 500) await sendLetters(letters.slice(at, at + 500));
  const run = (pipe: string) =>
    spawn("sh", ["-c", `"$0" "$1" dead-letters list --json | ${pipe}`, process.execPath, cli], {
      env: environment(settings),
      stdio: ["ignore", "pipe", "pipe"],
    });
  for (const [pipe, expected] of [
    ["(read first; wc -l)", "1999"],
    ["head -n 1 | wc -l", "1"],
  ] as const) {
    const child = run(pipe);
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    await once(child, "close");
    assert.deepEqual([output.trim(), errors], [expected, ""]);
  }
  const replayed = await deadLetters("replay", "--all", "--yes");
  assert.match(replayed.output, /sent 2000 of 2000 dead letters/);
  const values = await readRecords(topic);
  assert.deepEqual(
    values.map(({ headers }) => getHeaderText(headers, "topicsync.replay-of")),
    letters.map(({ headers }) => headers["topicsync.id"]),
  );
});
