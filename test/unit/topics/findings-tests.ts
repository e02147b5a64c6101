import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { before, describe, it } from "node:test";

import { TopicConditions, readFilters } from "@topicsync/filters";
import type { PickableTopic } from "../../../src/topics/live/feed.ts";
import { findingKinds, type Finding } from "../../../src/topics/finding.ts";
import { TopicAnalysis, type AnalysisOptions } from "../../../src/topics/findings.ts";
import { createRandom } from "../../support/random.ts";

/** Compares the findings about this many topics with every pair of them. */
export function testFindings(count: number): void {
  const maxListed = 20;
  const random = createRandom(1);
  const values = ["A", "B", "C", "AB", "5", "10"] as const;
  const pickValues = (most: number): string =>
    Array.from({ length: random.between(1, most) }, () => random.pick(values)).join();

  /** Few names and values, so that many topics contain others. */
  function createCondition(): string {
    const path = random.pick(["p", "q", "r.s", "t"]);
    switch (random.between(0, 7)) {
      case 0:
        return `${path}!=${pickValues(2)}`;
      case 1:
        return `${path}>${random.pick(["5", "7", "10"])}`;
      case 2:
        return `${path}.prefix=${random.pick(["A", "AB"])}`;
      case 3:
        return `${path}.exists=${random.pick(["true", "true", "false"])}`;
      case 4:
        return `${path}.${random.pick(["like=A*", "like=A?*", "regex=^A", "eqi=a,b", "contains=B"])}`;
      default:
        return `${path}=${pickValues(3)}`;
    }
  }

  const topics: readonly PickableTopic[] = Array.from({ length: count }, (_, number) => ({
    id: `id-${number}`,
    externalId: `topic-${number}`,
    name: "",
    namespace: "",
    headerQuery: random.pick(["", "eventType=A", "eventType=A,B", "eventType.prefix=A", "eventType=AB"]),
    contentQuery: Array.from({ length: random.between(1, 3) }, createCondition).join("&"),
  }));
  const conditions = new Map(
    topics.map((topic) => [topic.externalId, new TopicConditions(readFilters(topic))] as const),
  );

  /** Compares every pair of topics, and only looks for proofs. */
  function findContaining(): Map<string, string[]> {
    const possible = [...conditions].filter(([, one]) => one.findContradiction() === undefined);
    return new Map(
      possible.map(([id, one]) => [
        id,
        possible
          .filter(([otherId, other]) => otherId !== id && other.all.every((tested) => one.proves(tested)))
          .map(([otherId]) => otherId)
          .sort(),
      ]),
    );
  }

  async function analyze(given: readonly PickableTopic[], about?: AnalysisOptions["about"]) {
    const analysis = new TopicAnalysis(Readable.from(given), {
      kinds: findingKinds,
      about,
      onCompared: () => undefined,
    });
    const findings: Finding[] = [];
    for await (const finding of analysis.run()) findings.push(finding);
    assert.equal(analysis.uncompared, 0);
    return findings;
  }

  describe("the analysis of many similar topics", () => {
    let findings: Finding[];
    const containing = findContaining();
    before(async () => {
      findings = await analyze(topics);
    });

    it("finds exactly the topics that are contained in others", () => {
      const expected = [...containing].flatMap(([externalId, ids]) => {
        const larger = ids.filter((id) => !containing.get(id)?.includes(externalId));
        return larger.length === 0
          ? []
          : [{ kind: "contained", externalId, in: larger.slice(0, maxListed), total: larger.length }];
      });
      const found = findings.filter(({ kind }) => kind === "contained") as { externalId: string }[];
      const byId = (a: { externalId: string }, b: { externalId: string }): number =>
        a.externalId < b.externalId ? -1 : 1;
      assert.deepEqual(found.toSorted(byId), expected.toSorted(byId));
      assert.ok(expected.reduce((sum, { total }) => sum + total, 0) > count);
    });

    it("finds exactly the topics that have the same events", () => {
      const expected = new Set(
        [...containing].flatMap(([externalId, ids]) => {
          const all = [externalId, ...ids.filter((id) => containing.get(id)?.includes(externalId))].sort();
          return all.length === 1 ? [] : [JSON.stringify([all.slice(0, maxListed), all.length])];
        }),
      );
      const found = findings.flatMap((one) =>
        one.kind === "same" ? [JSON.stringify([one.externalIds, one.total])] : [],
      );
      assert.deepEqual(found.sort(), [...expected].sort());
      assert.ok(expected.size > count / 100);
    });

    it("finds the same of one topic, and what it contains", async () => {
      for (const [externalId, one] of [...conditions].slice(0, 20)) {
        const contained = [...containing].flatMap(([id, ids]) =>
          ids.includes(externalId) && !containing.get(externalId)?.includes(id)
            ? [{ kind: "contained", externalId: id, in: [externalId], total: 1 }]
            : [],
        );
        const own = findings.filter((found) =>
          found.kind === "same" ? found.externalIds.includes(externalId) : found.externalId === externalId,
        );
        const toTexts = (all: readonly object[]): string[] =>
          all.map((found) => JSON.stringify(found)).sort();
        const found = await analyze(topics, { externalId, conditions: one });
        assert.deepEqual(toTexts(found), toTexts([...own, ...contained]), externalId);
      }
    });

    it("finds what is impossible", () => {
      const found = findings.filter(({ kind }) => kind === "impossible");
      assert.equal(found.length, count - containing.size);
    });
  });
}
