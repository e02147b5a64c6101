/**
 * What must hold for the versions of topics. Each commit gives a topic the next version and keeps the one
 * that it replaces; what was acknowledged is never lost or skipped.
 */
import { collections } from "../../src/storage/names.ts";
import type { Change, Commit, Document } from "../simulated-servers/index.ts";
import { fromRecord, isEnd, toCombination } from "./sync-changes.ts";

/** A version that was stored, visible or not. */
interface StoredVersion {
  readonly commit: number;
  readonly number: number;
  readonly text: string;
}

/** What a commit does to one topic. */
interface TopicCommit {
  before?: Document | undefined;
  after?: Document | undefined;
  /** The versions that it adds to the history. */
  readonly replaced: Document[];
  /** The topic as it was retired. */
  retired?: Document;
}

interface Acknowledged {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly headerQuery: string;
}

const getNumber = (record: Document): number => (record["version"] as number | undefined) ?? 1;
const getSysId = (record: Document): string => record["sys_id"] as string;
const describe = (record: Document): string => {
  const { owner, offset, ...topic } = fromRecord(record);
  return `${toCombination({ ...topic, owner, offset })} of ${owner} ${offset}`;
};
const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(to - from, 0) }, (_, i) => from + i);

export class HistoryOracle {
  readonly #fail: (message: string) => never;
  /** The versions of each sys_id, in the order of their commits. */
  readonly #versions = new Map<string, StoredVersion[]>();
  /** The versions whose retirement another one has replaced: a log was read again. */
  readonly #overwritten = new Set<string>();

  constructor(fail: (message: string) => never) {
    this.#fail = fail;
  }

  onCommit({ number, changes }: Commit): void {
    for (const [id, one] of this.#group(changes)) this.#check(number, id, one);
  }

  onRollback(lastKept: number): void {
    for (const [id, versions] of this.#versions)
      this.#versions.set(
        id,
        versions.filter(({ commit }) => commit <= lastKept),
      );
  }

  /** Checks an acknowledged change: its version is stored on a majority, in the order of its topic. */
  onChanged({ id, version, name, headerQuery }: Acknowledged, majority: number): void {
    const stored = this.#versions.get(id)?.findLast((one) => one.number === version);
    if (stored === undefined || stored.commit > majority)
      this.#fail(
        `a change was acknowledged, but ${stored === undefined ? "is not stored" : "may be lost"}: version ${version} of ${id}`,
      );
    const [hasName, hasQuery] = [name, headerQuery].map((text) => stored.text.includes(JSON.stringify(text)));
    if (!hasName || !hasQuery)
      this.#fail(`a change was acknowledged, but is another: version ${version} of ${id}`);
  }

  /** At the end, every version is in the history once, or is the current or the last one. */
  compare(readAll: (collection: string) => readonly Document[]): void {
    const found = new Map<string, number[]>();
    const add = (id: string, version: number) => found.set(id, [...(found.get(id) ?? []), version]);
    for (const record of readAll(collections.topicVersions)) add(getSysId(record), getNumber(record));
    for (const record of readAll(collections.topics)) add(record["_id"] as string, getNumber(record));
    for (const record of readAll(collections.retiredTopics)) add(getSysId(record), getNumber(record));
    for (const [id, versions] of this.#versions) {
      const expected = range(1, (versions.at(-1)?.number ?? 0) + 1).filter(
        (version) => !this.#overwritten.has(`${id} ${version}`),
      );
      const actual = (found.get(id) ?? []).toSorted((a, b) => a - b);
      if (actual.join() !== expected.join())
        this.#fail(
          `the history is not complete: it has the versions ${actual.join()} of ${id}, not ${expected.join()}`,
        );
    }
  }

  #group(changes: readonly Change[]): Map<string, TopicCommit> {
    const topics = new Map<string, TopicCommit>();
    const get = (id: string): TopicCommit => {
      const one = topics.get(id) ?? { replaced: [] };
      topics.set(id, one);
      return one;
    };
    for (const { collection, before, after } of changes) {
      if (collection === collections.topics)
        Object.assign(get((before ?? after)?.["_id"] as string), { before, after });
      if (collection === collections.topicVersions && after !== undefined) {
        const id = getSysId(after);
        if (before !== undefined)
          this.#fail(`a version is in the history twice: version ${getNumber(after)} of ${id}`);
        get(id).replaced.push(after);
      }
      if (collection === collections.retiredTopics && after !== undefined && !isEnd(before, after)) {
        if (before !== undefined) this.#overwritten.add(`${String(before["sys_id"])} ${getNumber(before)}`);
        get(getSysId(after)).retired = after;
      }
    }
    return topics;
  }

  #check(commit: number, id: string, { before, after, replaced, retired }: TopicCommit): void {
    const last = after ?? retired;
    if (last === undefined)
      return this.#fail(
        replaced.length === 0
          ? `a topic is gone without a trace: ${id}`
          : `the history has a version of a topic that did not change: ${id}`,
      );
    const known = this.#versions.get(id) ?? [];
    const previous = known.at(-1)?.number ?? 0;
    const number = getNumber(last);
    // The version of a topic that is enabled again is among the retired ones.
    const isEnabled = before === undefined && previous > 0;
    const first = previous === 0 ? 1 : isEnabled ? previous + 1 : previous;
    const numbers = replaced.map((record) => getNumber(record)).toSorted((a, b) => a - b);
    if (numbers.join() !== range(first, number).join() || (isEnabled && number === previous))
      this.#fail(
        `versions with gaps, or missing in the history: version ${number} of ${id} follows ${previous}, and replaces ${numbers.join()}`,
      );
    if (after !== undefined && before !== undefined && number === previous)
      this.#fail(`a topic changed without a new version: ${id}`);
    for (const record of replaced) {
      const isVisible = getNumber(record) === previous;
      if ((record["is_transient"] === undefined) !== isVisible)
        this.#fail(`a version is kept as ${isVisible ? "never visible" : "visible"}, wrongly: of ${id}`);
      if (isVisible && describe(record) !== known.at(-1)?.text)
        this.#fail(
          `a version is kept with other contents: ${describe(record)} instead of ${known.at(-1)?.text ?? ""}`,
        );
    }
    if (number === previous) return;
    const stored = replaced
      .filter((record) => getNumber(record) > previous)
      .map((record) => ({ commit, number: getNumber(record), text: describe(record) }));
    this.#versions.set(id, [...known, ...stored, { commit, number, text: describe(last) }]);
  }
}
