import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { newId } from "@topicsync/lib/sys-id";
import { UnknownTopicError, type DefinitionChange } from "../../../src/topics/definition-change.ts";
import { decideChanges, type ChangeDecision, type ChangeSet } from "../../../src/topics/changes.ts";
import type { RetiredTopic, Source, Topic, TopicDefinition } from "../../../src/topics/topic.ts";
import { applyWrites } from "./apply-writes.ts";
import { createDefinition } from "./model.ts";

const now = new Date("2026-01-02T03:04:05Z");
const before = new Date("2025-01-01T00:00:00Z");
const source = { kind: "http", user: "ann" } as const;
const byChannel: Source = { kind: "announcement", topic: "announcements", partition: 2, offset: 17 };

function createStored(externalId: string, { name = externalId, ...rest }: Partial<Topic> = {}): Topic {
  const times = { createdOn: before, updatedOn: before };
  return { ...createDefinition(externalId, name), id: newId(), version: 3, source, ...times, ...rest };
}

const disable = (topic: Topic, retiredBy: Source = source): RetiredTopic => ({
  topic,
  retiredOn: before,
  retiredBy,
});

const decide = (
  changes: readonly DefinitionChange[],
  stored: readonly Topic[],
  retired: readonly RetiredTopic[] = [],
  at = now,
): ChangeDecision => decideChanges({ changes, stored, retired, source, now: at, newId } satisfies ChangeSet);

function requireMade(decision: ChangeDecision) {
  if ("rejections" in decision)
    assert.fail(decision.rejections.map(({ problem }) => problem.message).join("\n"));
  return decision;
}

const listProblems = (decision: ChangeDecision): unknown[] =>
  "rejections" in decision
    ? decision.rejections.map(({ index, problem }) => [
        index,
        "code" in problem ? problem.code : problem.name,
      ])
    : [];

const listUnknown = (decision: ChangeDecision): string[] =>
  "rejections" in decision
    ? decision.rejections.flatMap(({ problem }) =>
        problem instanceof UnknownTopicError ? [problem.message] : [],
      )
    : [];

const change = (
  externalId: string,
  definition: TopicDefinition,
  version: number | undefined = 3,
): DefinitionChange => ({ kind: "change", externalId, definition, expected: { version } });

describe("changing topics", () => {
  it("changes a topic that has the version that was read, and keeps what it was", () => {
    const topic = createStored("a");
    const { results, writes } = requireMade(decide([change("a", createDefinition("a", "x"))], [topic]));
    const changed = {
      ...{ ...topic, ...createDefinition("a", "x"), version: 4, updatedOn: now },
      previous: { name: "a", namespace: "", headerQuery: "", contentQuery: "", source, updatedOn: before },
    };
    assert.deepEqual(results, [{ outcome: "changed", topic: changed }]);
    assert.deepEqual(writes.updated, [changed]);
    assert.deepEqual(writes.replaced, [
      { topic, endedBy: source, endedOn: now, action: "changed", isTransient: false },
    ]);
  });

  it("makes the update later than the version before, also if the clock of this process is behind", () => {
    const { writes } = requireMade(
      decide([change("a", createDefinition("a", "x"))], [createStored("a")], [], new Date(0)),
    );
    assert.equal(writes.updated[0]?.updatedOn.getTime(), before.getTime() + 1);
  });

  it("rejects another version, and says who changed it and when", () => {
    const user: Source = { kind: "http", user: "bob" };
    const decision = decide(
      [change("a", createDefinition("a", "x"), 2)],
      [createStored("a", { source: user })],
    );
    assert.ok("rejections" in decision);
    assert.equal(
      decision.rejections[0]?.problem.message,
      'The topic "a" has the version 3, not 2: the user "bob" changed it at 2025-01-01T00:00:00.000Z.',
    );
    const adopted = decide(
      [change("a", createDefinition("a", "x"), 2)],
      [createStored("a", { source: byChannel })],
    );
    assert.ok("rejections" in adopted);
    assert.match(
      adopted.rejections[0]?.problem.message ?? "",
      /the announcement announcements-2-17 changed it/,
    );
  });

  it("rejects a topic that has the version, but another definition than was read", () => {
    const expected = { version: 3, definition: createDefinition("a", "as read") };
    const definition = createDefinition("a", "x");
    const decision = decide(
      [{ kind: "change", externalId: "a", expected, definition }],
      [createStored("a", { name: "other" })],
    );
    assert.deepEqual(listProblems(decision), [[0, "VersionConflictError"]]);
  });

  it("does not change topics of the channel, and says what to announce", () => {
    const decision = decide(
      [change("a", createDefinition("a", "x"))],
      [createStored("a", { source: byChannel })],
    );
    assert.deepEqual(listProblems(decision), [[0, "EXTERNAL_ID_TAKEN"]]);
    assert.ok("rejections" in decision);
    assert.match(decision.rejections[0]?.problem.message ?? "", /announcements-2-17.*\{"externalId":"a"/);
  });

  it("rejects a filter that cannot be read", () => {
    const definition = { ...createDefinition("a", "x"), contentQuery: "a=*" };
    assert.deepEqual(listProblems(decide([change("a", definition)], [createStored("a")])), [
      [0, "BAD_FILTER"],
    ]);
  });

  it("does not know what is absent or disabled, and says which of them it is", () => {
    const definition = createDefinition("a", "x");
    const absent = 'there is no topic with the external id "a"';
    for (const one of [
      change("a", definition),
      { kind: "disable", externalId: "a" } as const,
      { kind: "enable", externalId: "a" } as const,
    ])
      assert.deepEqual(listUnknown(decide([one], [])), [absent]);
    const list = (by: Source) =>
      listUnknown(decide([change("a", definition)], [], [disable(createStored("a"), by)]));
    assert.deepEqual(list(source), ['the topic "a" is disabled; enable or restore it first']);
    assert.deepEqual(list(byChannel), [absent]);
  });

  it("enables a topic after its retirement, under its sys_id and with another definition", () => {
    const retiredOn = new Date(now.getTime() + 5_000);
    const topic = createStored("a");
    const definition = createDefinition("a", "x");
    const changes: DefinitionChange[] = [
      { kind: "enable", externalId: "a", expected: { version: 3 }, definition },
    ];
    const { writes } = requireMade(decide(changes, [], [{ ...disable(topic), retiredOn }]));
    const [created] = writes.created;
    assert.deepEqual(
      [created?.id, created?.version, created?.name, created?.updatedOn.getTime(), created?.previous?.name],
      [topic.id, 4, "x", retiredOn.getTime() + 1, "a"],
    );
    assert.deepEqual([writes.replaced.length, writes.enabled.length], [0, 1]);
  });

  it("does not enable what the channel has retired", () => {
    const decision = decide(
      [{ kind: "enable", externalId: "a" }],
      [],
      [disable(createStored("a"), byChannel)],
    );
    assert.deepEqual(listProblems(decision), [[0, "EXTERNAL_ID_TAKEN"]]);
  });

  it("renames a topic, under its sys_id, and remembers its former external ids", () => {
    const topic = createStored("a");
    const { writes, results } = requireMade(decide([change("a", createDefinition("b", "a"))], [topic]));
    assert.deepEqual(
      writes.updated.map(({ id, externalId, version, formerIds }) => [id, externalId, version, formerIds]),
      [[topic.id, "b", 4, ["a"]]],
    );
    assert.deepEqual(
      [results[0]?.outcome, results[0]?.topic.version, writes.replaced[0]?.action],
      ["renamed", 4, "renamed"],
    );
    const back = decide([change("b", createDefinition("a"), 4)], writes.updated);
    assert.deepEqual(requireMade(back).writes.updated[0]?.formerIds, ["b"]);
  });

  it("lets topics exchange external ids and combinations at once", () => {
    const stored = [createStored("a"), createStored("b"), createStored("c")];
    const changes = [
      change("a", createDefinition("b", "c")),
      change("b", createDefinition("c", "a")),
      change("c", createDefinition("a", "b")),
    ];
    const { writes } = requireMade(decide(changes, stored));
    assert.deepEqual(
      applyWrites(stored, writes)
        .map(({ externalId, name }) => `${externalId} ${name}`)
        .toSorted(),
      ["a b", "b c", "c a"],
    );
    // Each waits for both others.
    assert.deepEqual(
      writes.removed.map(({ version }) => version),
      [3, 3],
    );
  });

  it("lets a topic take the values of one that is disabled or renamed with it", () => {
    const stored = [createStored("a"), createStored("b")];
    const changes: DefinitionChange[] = [
      { kind: "create", definition: createDefinition("a", "b") },
      change("a", createDefinition("c")),
      { kind: "disable", externalId: "b", expected: { version: 3 } },
    ];
    const { writes } = requireMade(decide(changes, stored));
    assert.deepEqual(
      applyWrites(stored, writes)
        .map(({ externalId, name }) => [externalId, name])
        .toSorted(),
      [
        ["a", "b"],
        ["c", "c"],
      ],
    );
  });

  it("makes no change if one of them cannot be made, and names every problem", () => {
    const stored = [createStored("a"), createStored("b"), createStored("c")];
    const decision = decide(
      [
        change("a", createDefinition("a", "free")),
        change("b", createDefinition("b", "x"), 1),
        change("c", createDefinition("b", "b")),
        { kind: "create", definition: createDefinition("d", "free") },
        { kind: "create", definition: createDefinition("c", "new") },
        change("a", createDefinition("a", "twice")),
      ],
      stored,
    );
    assert.deepEqual(listProblems(decision), [
      [1, "VersionConflictError"],
      [2, "DUPLICATE_EXTERNAL_ID"],
      [3, "DUPLICATE_COMBINATION"],
      [5, "SCHEMA_VIOLATION"],
    ]);
  });
});

describe("changing any topics", () => {
  const ids = fc.constantFrom("a", "b", "c", "d", "e");
  const names = fc.constantFrom("u", "v", "w", "x", "y");
  const versions = fc.constantFrom(3, 3, 3, 3, 2);
  const definitions = fc.record({ id: ids, name: names }).map(({ id, name }) => createDefinition(id, name));
  const changes = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant("create" as const), definition: definitions }),
      fc
        .record({ externalId: ids, definition: definitions, version: versions, keepsId: fc.boolean() })
        .map(({ externalId, definition, version, keepsId }) =>
          change(externalId, keepsId ? { ...definition, externalId } : definition, version),
        ),
      fc.record({
        kind: fc.constant("disable" as const),
        externalId: ids,
        expected: fc.record({ version: versions }),
      }),
      fc.record({
        kind: fc.constant("enable" as const),
        externalId: ids,
        expected: fc.record({ version: versions }),
      }),
    ),
    { maxLength: 5 },
  );
  const situation = fc.record({
    changes,
    stored: fc
      .uniqueArray(fc.record({ id: ids, name: names }), { selector: ({ id }) => id })
      .map((topics) => topics.filter(({ name }, i) => topics.findIndex((one) => one.name === name) === i))
      .map((topics) => topics.map(({ id, name }) => createStored(id, { name }))),
    disabled: fc
      .uniqueArray(fc.record({ id: ids, name: names }), { selector: ({ id }) => id })
      .map((topics) => topics.map(({ id, name }) => disable(createStored(id, { name })))),
  });

  it("has the result of a plain model, and violates no unique index", () => {
    let made = 0;
    fc.assert(
      fc.property(situation, (one) => {
        const decision = decide(one.changes, one.stored, one.disabled);
        const expected = applyToPlainModel(one);
        if ("rejections" in decision) {
          assert.equal(expected, undefined);
          return;
        }
        const after = applyWrites(one.stored, decision.writes);
        assert.deepEqual(after.map(format).toSorted(), expected?.toSorted());
        made += 1;
      }),
      { numRuns: 3_000 },
    );
    assert.ok(made > 200);
  });

  it("counts everything as unchanged when it is repeated", () => {
    fc.assert(
      fc.property(situation, ({ stored, disabled, ...one }) => {
        const decision = decide(one.changes, stored, disabled);
        if ("rejections" in decision) return;
        const { writes } = decision;
        const retired = [...writes.retired, ...disabled];
        const again = requireMade(decide(one.changes, applyWrites(stored, writes), retired));
        assert.ok(again.results.every(({ outcome }) => outcome === "unchanged"));
        assert.deepEqual(again.writes, {
          ...{ replaced: [], removed: [], retired: [], updated: [], created: [], enabled: [], renamed: [] },
        });
      }),
      { numRuns: 3_000 },
    );
  });
});

const format = ({ externalId, name }: TopicDefinition): string => `${externalId} ${name}`;

/** The topics afterwards; undefined if the changes are rejected. It shares no code with `decideChanges`. */
function applyToPlainModel({
  changes,
  stored,
  disabled,
}: {
  readonly changes: readonly DefinitionChange[];
  readonly stored: readonly Topic[];
  readonly disabled: readonly RetiredTopic[];
}): string[] | undefined {
  const table = new Map(stored.map((topic) => [topic.externalId, topic]));
  const named = changes.flatMap((one) => ("externalId" in one ? [one.externalId] : []));
  if (new Set(named).size < named.length) return undefined;
  const leaving = new Set<string>();
  const arriving: TopicDefinition[] = [];
  for (const one of changes) {
    if (one.kind === "create") continue;
    const current = table.get(one.externalId);
    const last = disabled.find(({ topic }) => topic.externalId === one.externalId)?.topic;
    const isExpected = (topic: Topic | undefined): boolean => topic?.version === one.expected?.version;
    if (one.kind === "disable") {
      if (!isExpected(current)) {
        if (isExpected(last)) continue;
        return undefined;
      }
      leaving.add(one.externalId);
    } else if (one.kind === "enable") {
      if (last === undefined && current !== undefined) continue;
      if (!isExpected(last) || last === undefined) return undefined;
      arriving.push(last);
    } else {
      if (current === undefined) return undefined;
      if (format(current) === format(one.definition)) continue;
      if (!isExpected(current)) return undefined;
      leaving.add(one.externalId);
      arriving.push(one.definition);
    }
  }
  for (const one of changes) {
    if (one.kind !== "create") continue;
    const current = table.get(one.definition.externalId);
    const isThere = current !== undefined && !leaving.has(current.externalId);
    if (isThere && format(current) === format(one.definition)) continue;
    arriving.push(one.definition);
  }
  const remaining = [...stored.filter(({ externalId }) => !leaving.has(externalId)), ...arriving];
  const isUnique = (values: readonly string[]): boolean => new Set(values).size === values.length;
  const valid =
    isUnique(remaining.map(({ externalId }) => externalId)) && isUnique(remaining.map(({ name }) => name));
  return valid ? remaining.map(format) : undefined;
}
