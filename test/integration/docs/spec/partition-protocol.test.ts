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
  reportedOnce: /^assertion violated .*unreportedTo/,
  endIsReached: /^acceptance cycle$/,
};

interface Removal {
  readonly step: string;
  /** The switch that removes the step. */
  readonly name: string;
  readonly violates: keyof typeof invariants;
  readonly options?: readonly string[];
}

const removals: readonly Removal[] = [
  { step: "the compare-and-set of the position", name: "NO_CAS", violates: "onePerPosition" },
  { step: "the claim after a fenced write", name: "NO_REREAD_AFTER_FENCE", violates: "endIsReached" },
  {
    step: "the claim after an unknown commit result",
    name: "NO_REREAD_AFTER_UNKNOWN_COMMIT",
    violates: "reportedOnce",
  },
  { step: "position and records in one transaction", name: "NO_TRANSACTIONS", violates: "appliedInOrder" },
  { step: "records before the position", name: "POSITION_FIRST", violates: "appliedInOrder" },
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
    step: "dead letters before the commit",
    name: "DEAD_LETTERS_AFTER_COMMIT",
    violates: "noDeadLetterLost",
  },
  { step: "the process that moved the position", name: "NO_OWNER_CHECK", violates: "reportedOnce" },
  {
    step: "the end of an unconfirmed write with its claim",
    name: "KEEP_UNCONFIRMED",
    violates: "reportedOnce",
    options: ["LOST_RESPONSES=2"],
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
    const { violation } = await checkModel(["LIVENESS", "LOST_RESPONSES=0"], { isFull: true });
    assert.equal(violation, undefined);
  });

  for (const { step, name, violates, options = [] } of removals)
    it(`needs ${step}`, async () => {
      const liveness = violates === "endIsReached" ? ["LIVENESS"] : [];
      await expectViolation(violates, [name, "CRASHES=0", ...liveness, ...options]);
    });
});

describe("the gaps of the protocol of a partition", { concurrency: 2 }, () => {
  it("are an election that undoes a commit which another reader has seen", async () => {
    await expectViolation("appliedInOrder", ["ELECTIONS=1", "CRASHES=0", "LOST_RESPONSES=0"]);
  });

  it("are the report of a commit that was late", async () => {
    await expectViolation("reportedOnce", ["EXACT_REPORTS", "CRASHES=0"]);
  });

  it("would both be closed by a claim id", async () => {
    const options = ["CLAIM_ID", "EXACT_REPORTS", "ELECTIONS=1", "CRASHES=0"];
    const { violation } = await checkModel(options, { isFull: true });
    assert.equal(violation, undefined);
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
