import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { chooseSeed } from "../../support/random.ts";
import { runChaos } from "./run.ts";

const { seed, hint } = chooseSeed("CHAOS_SEED");

describe("the sync under chaos", () => {
  it("ends in the state that the model predicts, whichever processes were killed", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "topicsync-chaos-"));
    const label = `${hint}, logs in ${folder}`;
    t.diagnostic(label);
    const { differences, outcomes } = await runChaos({
      seed,
      announcements: 3_000,
      partitions: 4,
      instances: 3,
      faults: { kill: 3, freeze: 1, store: 1, broker: 1, grow: 0 },
      limitMs: 800_000,
      folder,
      log: (line) => {
        t.diagnostic(line);
      },
      progress: () => undefined,
    }).catch((error: unknown) => {
      throw new Error(`the run failed (${label})`, { cause: error });
    });
    assert.deepEqual(differences.slice(0, 10), [], `${differences.length} differences (${label})`);
    assert.deepEqual([...outcomes.keys()].toSorted(), everyOutcome, `not every outcome occurred (${label})`);
    rmSync(folder, { recursive: true, force: true });
  });
});

const rejectionCodes = [
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
  "adopted",
  "created",
  "retired",
  "unchanged",
  "updated",
  ...rejectionCodes.map((code) => `rejected, ${code}`),
].toSorted();
