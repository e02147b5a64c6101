/** What must hold for what users do over HTTP: single operations, and changes of several topics at once. */
import { collections } from "../../src/storage/names.ts";
import type { DefinitionChange } from "../../src/topics/definition-change.ts";
import type { Commit, Document } from "../simulated-servers/index.ts";
import { toCombination, toEffect } from "./sync-changes.ts";
import { applyEffect, type Version } from "./sync-explanation.ts";

/** A change that a user asks for, and the topic that the user has read. */
export interface WantedChange {
  readonly change: DefinitionChange;
  readonly sysId: string | undefined;
}

/** A request for several changes. */
interface Plan {
  readonly wanted: readonly WantedChange[];
  /** The last commit before the request. */
  readonly from: number;
  /** The commit that stored it. */
  commit?: number;
}

interface OperationOracleOptions {
  /** The versions that were stored since a commit. */
  readonly listVersions: (from: number) => readonly Version[];
  readonly fail: (message: string) => never;
}

export class OperationOracle {
  readonly #options: OperationOracleOptions;
  /** The first commit that stored each sys_id over HTTP: a disabled topic is enabled under its own. */
  readonly #createdBy = new Map<string, number>();
  readonly #plans = new Map<string, Plan>();

  constructor(options: OperationOracleOptions) {
    this.#options = options;
  }

  onRollback(lastKept: number): void {
    for (const [id, commit] of this.#createdBy) if (commit > lastKept) this.#createdBy.delete(id);
    for (const plan of this.#plans.values()) if ((plan.commit ?? 0) > lastKept) delete plan.commit;
  }

  wasStored(sysId: string): boolean {
    return this.#createdBy.has(sysId);
  }

  /** Checks an acknowledged request: the topic is stored on a majority. */
  onCreated(sysId: string, majority: number): void {
    const commit = this.#createdBy.get(sysId);
    if (commit === undefined || commit > majority)
      this.#options.fail(
        `the topic ${sysId} was acknowledged, but ${commit === undefined ? "is not stored" : "may be lost"}`,
      );
  }

  onPlanned(name: string, wanted: readonly WantedChange[], from: number): void {
    this.#plans.set(name, { wanted, from });
  }

  /** Checks an acknowledged plan that changed something: it is stored on a majority. */
  onApplied(name: string, majority: number): void {
    const commit = this.#plans.get(name)?.commit;
    if (commit === undefined || commit > majority)
      this.#options.fail(
        `a plan was acknowledged, but ${commit === undefined ? "is not stored" : "may be lost"}: ${name}`,
      );
  }

  /** Returns what is stored after a commit without a move of a position. */
  check(commit: Commit, last: Version): Version {
    const { fail } = this.#options;
    const { number, changes } = commit;
    const actual = toEffect(changes);
    const moved = new Set(
      changes.flatMap(({ collection, before, after }) =>
        collection === collections.topics && before?.["topic_id"] !== after?.["topic_id"]
          ? [before?.["_id"]]
          : [],
      ),
    );
    for (const [id, { topic, sysId }] of actual.topics) {
      const holder = last.ids.get(id);
      if (topic === undefined) {
        if (last.topics.get(id)?.owner === "channel") fail(`the topic ${id} of the channel was disabled`);
        continue;
      }
      if (topic.owner !== "http") fail(`the topic ${id} changed without a move of its position`);
      if (last.topics.get(id)?.owner === "channel")
        fail(`the topic ${id} of the channel was changed over HTTP`);
      if (holder !== undefined && holder !== sysId && !moved.has(holder))
        fail(`the topic ${id} was replaced over HTTP`);
      if (sysId !== undefined && !this.#createdBy.has(sysId)) this.#createdBy.set(sysId, number);
    }
    if (actual.retired.size > 0) fail("a topic was retired by the channel without a move of its position");
    const next = { ...applyEffect(last, actual, fail), commit: number };
    for (const name of listPlans(commit)) this.#checkPlan(name, commit, next);
    return next;
  }

  /** All of a plan is stored at once, on the versions that its user has read, and once. */
  #checkPlan(name: string, { number, changes }: Commit, next: Version): void {
    const { fail, listVersions } = this.#options;
    const plan = this.#plans.get(name);
    if (plan === undefined) return fail(`nobody asked for the plan ${name}`);
    if (plan.commit !== undefined) fail(`a plan is stored twice: ${name}`);
    plan.commit = number;
    const versions = [...listVersions(plan.from), next];
    for (const { change, sysId } of plan.wanted) {
      // What another request has done in the meantime counts as done.
      if (!versions.some((version) => isDone(change, sysId, version)))
        fail(`a plan is stored in part: ${name} without ${JSON.stringify(change)}`);
      if (!("expected" in change) || change.expected === undefined) continue;
      const { version } = change.expected;
      const written = changes.flatMap(({ collection, after }): number[] => {
        if (after === undefined) return [];
        if (collection === collections.topics && after["_id"] === sysId) return [getNumber(after) - 1];
        const isRetired = collection === collections.retiredTopics && after["sys_id"] === sysId;
        return isRetired && after["enabled_on"] === undefined ? [getNumber(after)] : [];
      });
      const other = written.find((one) => one !== version);
      if (other !== undefined)
        fail(
          `a plan changed another version than its user has read: ${name}, ${other} instead of ${version}`,
        );
    }
  }
}

const getNumber = (record: Document): number => (record["version"] as number | undefined) ?? 1;

function listPlans({ changes }: Commit): Set<string> {
  const sources = changes.flatMap(({ collection, after }) => {
    if (collection === collections.topics) return [after?.["source"]];
    if (collection === collections.topicVersions) return [after?.["ended_by"]];
    return collection === collections.retiredTopics && after?.["enabled_on"] === undefined
      ? [after?.["retired_by"]]
      : [];
  });
  const labels = sources.map((source) => (source as { change?: { plan: string } } | undefined)?.change);
  return new Set(labels.flatMap((label) => (label === undefined ? [] : [label.plan])));
}

function isDone(change: DefinitionChange, sysId: string | undefined, { topics, ids }: Version): boolean {
  switch (change.kind) {
    case "disable":
      return ![...ids.values()].includes(sysId ?? "");
    case "enable":
      return topics.has(change.externalId);
    default: {
      const { definition } = change;
      const topic = topics.get(definition.externalId);
      return (
        topic !== undefined &&
        toCombination(topic) === toCombination({ ...definition, owner: "http", offset: -1 })
      );
    }
  }
}
