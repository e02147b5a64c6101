import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { anySeed } from "./random.ts";
import { chaos } from "./run.ts";

/** Another one each time; `CHAOS_SEED` makes the same announcements again. */
const seed = Number(process.env["CHAOS_SEED"] ?? anySeed());

describe("the sync under chaos", () => {
  it("comes out as the model says, whoever was killed on the way", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "topicsync-chaos-"));
    const told = `CHAOS_SEED=${seed}, logs in ${folder}`;
    t.diagnostic(told);
    const { differences, outcomes } = await chaos({
      seed,
      announcements: 3_000,
      partitions: 4,
      instances: 3,
      faults: { kill: 3, freeze: 1, store: 1, broker: 1 },
      limitMs: 240_000,
      folder,
      log: (line) => {
        t.diagnostic(line);
      },
      progress: () => undefined,
    }).catch((error: unknown) => {
      throw new Error(`it did not come through (${told})`, { cause: error });
    });
    assert.deepEqual(differences.slice(0, 10), [], `${differences.length} differences (${told})`);
    assert.deepEqual([...outcomes.keys()].toSorted(), everyOutcome, `not every outcome occurred (${told})`);
    rmSync(folder, { recursive: true, force: true });
  });
});

const refusals = [
  "BAD_FILTER",
  "DUPLICATE_COMBINATION",
  "EXTERNAL_ID_TAKEN",
  "KEY_MISMATCH",
  "MALFORMED_JSON",
  "MISSING_KEY",
  "SCHEMA_VIOLATION",
  "TOO_LARGE",
  "UNDECODABLE",
];
const everyOutcome = [
  ...["adopted", "created", "retired", "unchanged", "updated"],
  ...refusals.map((code) => `refused, ${code}`),
].toSorted();
