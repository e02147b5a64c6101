/** Which retired topics may be enabled: a second model, of the raw records in the order of their commits. */
import { collections } from "../../src/storage/names.ts";
import type { Commit, Document, Host } from "../simulated-servers/index.ts";
import { isEnd } from "./sync-changes.ts";

interface Retirement {
  readonly key: string;
  readonly commit: number;
  readonly isByChannel: boolean;
}

const toKey = (record: Document): string => JSON.stringify(record["_id"]);

export class RetirementOracle {
  readonly #fail: (message: string) => never;
  /** The retirements of each external id. */
  readonly #retirements = new Map<string, Retirement[]>();
  /** The requests that have not ended, with the last commit before each. */
  readonly #requests = new Set<{ readonly host: Host; readonly from: number }>();

  constructor(fail: (message: string) => never) {
    this.#fail = fail;
  }

  /** Begins a request, which may rest on what was stored then. Returns its end. */
  onRequested(host: Host, from: number): () => void {
    const request = { host, from };
    this.#requests.add(request);
    return () => {
      this.#requests.delete(request);
    };
  }

  onCommit({ number, changes, client }: Commit): void {
    for (const { collection, before, after } of changes) {
      if (collection !== collections.retiredTopics || after === undefined) continue;
      const id = after["topic_id"] as string;
      const known = this.#retirements.get(id) ?? [];
      if (isEnd(before, after)) this.#checkEnd({ id, key: toKey(after), client }, known);
      else if (before?.["enabled_on"] === undefined) {
        const { kind } = after["retired_by"] as { readonly kind: string };
        const one = { key: toKey(after), commit: number, isByChannel: kind === "announcement" };
        this.#retirements.set(id, [...known.filter(({ key }) => key !== one.key), one]);
      }
    }
  }

  onRollback(lastKept: number): void {
    for (const [id, known] of this.#retirements)
      this.#retirements.set(
        id,
        known.filter(({ commit }) => commit <= lastKept),
      );
  }

  #checkEnd(
    { id, key, client }: { readonly id: string; readonly key: string; readonly client: Host },
    known: readonly Retirement[],
  ): void {
    const index = known.findIndex((one) => one.key === key);
    if (known[index]?.isByChannel !== false)
      this.#fail(`a topic was enabled that users have not disabled: ${id}`);
    const requests = [...this.#requests].filter(({ host }) => host === client);
    const firstRequest = Math.min(...requests.map(({ from }) => from));
    if (known.slice(index + 1).some(({ commit }) => commit <= firstRequest))
      this.#fail(`a topic was enabled that was not disabled last: ${id}`);
  }
}
