/** Checks docs/spec/partition-protocol.pml exhaustively: as it is, and without each of its steps. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { root } from "../pages.ts";
import { checkModel, specFolder } from "./spin.ts";

/** The invariants, by how spin quotes their assertions. */
const invariants = {
  onePerPosition: /^assertion violated \(\S*from==position\)$/,
  appliedInOrder: /^assertion violated \(topic==/,
  noDeadLetterLost: /^assertion violated .*hasDeadLetter/,
  noWrongDeadLetter: /^assertion violated \(rejected==/,
  reportedAsStored: /^assertion violated .*unreportedTo/,
  endIsReached: /^acceptance cycle$/,
};

interface Removal {
  readonly step: string;
  /** The switch that removes the step. */
  readonly name: string;
  readonly violates: keyof typeof invariants;
  readonly faults?: readonly string[];
}

/** The fewer faults, the earlier is a violation found. */
const oneLostResponse = ["CRASHES=0", "ELECTIONS=0"];
const twoLostResponses = [...oneLostResponse, "LOST_RESPONSES=2"];
const oneElection = ["CRASHES=0", "LOST_RESPONSES=0"];

const removals: readonly Removal[] = [
  { step: "the compare-and-set of the position", name: "NO_CAS", violates: "onePerPosition" },
  { step: "the claim after a fenced write", name: "NO_REREAD_AFTER_FENCE", violates: "endIsReached" },
  {
    step: "the claim after an unknown commit result",
    name: "NO_REREAD_AFTER_UNKNOWN_COMMIT",
    violates: "reportedAsStored",
  },
  { step: "position and records in one transaction", name: "NO_TRANSACTIONS", violates: "appliedInOrder" },
  {
    step: "a look-up after the batch before is stored",
    name: "DECIDE_ALL_AHEAD",
    violates: "noWrongDeadLetter",
  },
  {
    step: "the check of the position before dead letters",
    name: "NO_CHECK_BEFORE_DEAD_LETTERS",
    violates: "noWrongDeadLetter",
  },
  {
    step: "the check of the primary before dead letters",
    name: "NO_PRIMARY_CHECK_BEFORE_DEAD_LETTERS",
    violates: "noWrongDeadLetter",
    faults: oneElection,
  },
  {
    step: "the check of the primary before the commit",
    name: "NO_PRIMARY_CHECK_BEFORE_COMMIT",
    violates: "appliedInOrder",
    faults: oneElection,
  },
  {
    step: "dead letters before the commit",
    name: "DEAD_LETTERS_AFTER_COMMIT",
    violates: "noDeadLetterLost",
  },
  {
    step: "a claim that changes the position's record",
    name: "CLAIM_CHANGES_NOTHING",
    violates: "reportedAsStored",
  },
  { step: "the process that moved the position", name: "NO_OWNER_CHECK", violates: "reportedAsStored" },
  {
    step: "the end of an unconfirmed write with its claim",
    name: "KEEP_UNCONFIRMED",
    violates: "reportedAsStored",
    faults: twoLostResponses,
  },
  { step: "MongoDB's write conflicts", name: "NO_WRITE_CONFLICTS", violates: "onePerPosition" },
];

/** Fails unless spin finds a violation of this invariant. */
async function expectViolation(invariant: keyof typeof invariants, options: readonly string[]) {
  const { violation } = await checkModel(options);
  assert.match(violation ?? "no violation", invariants[invariant]);
}

describe("the protocol of a partition", { concurrency: 2 }, () => {
  it("keeps its invariants", async () => {
    const { violation, isEveryStepTaken } = await checkModel([], { isFull: true });
    assert.equal(violation, undefined);
    assert.ok(isEveryStepTaken);
  });

  it("reaches the end of the log", async () => {
    const { violation } = await checkModel(["LIVENESS", "CRASHES=0", "LOST_RESPONSES=0"], { isFull: true });
    assert.equal(violation, undefined);
  });

  for (const { step, name, violates, faults = oneLostResponse } of removals)
    it(`needs ${step}`, async () => {
      const liveness = violates === "endIsReached" ? ["LIVENESS"] : [];
      await expectViolation(violates, [name, ...faults, ...liveness]);
    });
});

describe("the page about the specification", () => {
  it("lists every switch", () => {
    const model = ["partition-protocol.pml", "mongodb.pml"]
      .map((file) => readFileSync(join(specFolder, file), "utf8"))
      .join("");
    const switches = Array.from(
      model.matchAll(/(?:#ifn?def |#if |defined\()(\w+)(?!\()\b/g),
      ([, name = ""]) => name,
    );
    const page = readFileSync(join(root, "docs/spec/README.md"), "utf8");
    const listed = Array.from(page.matchAll(/`-D([A-Z_]+)(?:=\w+)?`/g), ([, name = ""]) => name);
    assert.deepEqual(new Set(listed), new Set(switches));
    for (const { name } of removals) assert.ok(switches.includes(name), name);
  });
});
