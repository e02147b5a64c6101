import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { chooseSeed } from "../../support/random.ts";
import { runEventChaos } from "./events/run.ts";

const { seed, hint } = chooseSeed("CHAOS_SEED");

describe("the router under chaos", () => {
  it("forwards each event exactly once to each topic that wants it, whichever processes were killed", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "topicsync-chaos-"));
    const label = `${hint}, logs in ${folder}`;
    t.diagnostic(label);
    const { differences, counts } = await runEventChaos({
      seed,
      events: 3_000,
      topics: 300,
      changesTopics: false,
      partitions: 4,
      instances: 3,
      faults: { kill: 2, freeze: 0, store: 0, broker: 1, grow: 3 },
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
    for (const kind of ["garbage", "popular", "unwanted", "wanted"])
      assert.ok(counts.events.has(kind), `no event is ${kind} (${label})`);
    assert.ok(counts.copies > 3_000, `only ${counts.copies} copies (${label})`);
    rmSync(folder, { recursive: true, force: true });
  });
});
