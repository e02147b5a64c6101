/**
 * What must hold for registrations: an acknowledged one is stored on a majority, and what is stored in the
 * end is what one of the operations did that no acknowledged operation came after.
 */
import { collections } from "../../src/storage/names.ts";
import type { Clock, Commit, Document, Host } from "../simulated-servers/index.ts";
import { Violation } from "./violation.ts";

export type Operation =
  | {
      readonly kind: "register";
      readonly user: string;
      readonly token: string;
      readonly previousToken: string | undefined;
    }
  | { readonly kind: "remove"; readonly user: string }
  | { readonly kind: "remove all" };

/** An operation between its request and its response. Both are moments of one order. */
interface Performed {
  readonly operation: Operation;
  readonly host: Host;
  readonly start: number;
  /** Infinity until it is acknowledged: a failed one may still take effect. */
  end: number;
  /** When it failed. */
  failure: number;
}

interface TokenState {
  readonly commit: number;
  readonly user: string;
  readonly active: boolean;
}

const maxStates = 400;

/** Checks each acknowledged operation, and what is stored in the end. */
export class RegistrationOracle {
  readonly #clock: Clock;
  readonly #getMajority: () => number;
  readonly #performed: Performed[] = [];
  readonly #states = new Map<string, TokenState[]>();
  #moment = 0;
  #lastCommit = 0;
  #checks = 0;

  constructor({ clock, getMajority }: { readonly clock: Clock; readonly getMajority: () => number }) {
    this.#clock = clock;
    this.#getMajority = getMajority;
  }

  /** Returns what to call when it is acknowledged, and when it fails. */
  begin(operation: Operation, host: Host): { readonly end: () => void; readonly fail: () => void } {
    this.#moment += 1;
    const one: Performed = { operation, host, start: this.#moment, end: Infinity, failure: Infinity };
    const since = this.#lastCommit;
    this.#performed.push(one);
    return {
      end: () => {
        this.#checks += 1;
        this.#moment += 1;
        one.end = this.#moment;
        this.#requireStored(operation, since);
      },
      fail: () => {
        this.#moment += 1;
        one.failure = this.#moment;
      },
    };
  }

  onCommit({ number, changes }: Commit): void {
    this.#lastCommit = number;
    for (const { collection, after } of changes) {
      if (collection !== collections.installations || after === undefined) continue;
      const { token, user, active } = after as unknown as { token: string; user: string; active: boolean };
      const known = this.#states.get(token) ?? [];
      known.push({ commit: number, user, active });
      this.#states.set(token, known.length > maxStates ? known.slice(-maxStates / 2) : known);
    }
  }

  onRollback(lastKept: number): void {
    for (const [token, known] of this.#states)
      this.#states.set(
        token,
        known.filter(({ commit }) => commit <= lastKept),
      );
  }

  checkFinal(records: readonly Document[]): void {
    const stored = new Map(records.map((record) => [record["token"] as string, record]));
    const tokens = new Set(
      this.#performed.flatMap(({ operation }) => (operation.kind === "register" ? [operation.token] : [])),
    );
    for (const token of tokens) {
      this.#checks += 1;
      const record = stored.get(token);
      if (record === undefined) {
        if (
          this.#performed.some(
            ({ operation, end }) =>
              operation.kind === "register" && operation.token === token && end < Infinity,
          )
        )
          this.#fail(`${token} was registered, but is not stored`);
        continue;
      }
      this.#checkToken(token, record["user"] as string, record["active"] as boolean);
    }
  }

  countChecks() {
    return this.#checks;
  }

  #fail(message: string): never {
    throw new Violation(`${message} (at ${Math.round(this.#clock.getTime())} ms)`);
  }

  /** The states of a token since a commit, the one at that commit included. */
  #getStatesSince(token: string, commit: number): readonly TokenState[] {
    const all = this.#states.get(token) ?? [];
    const before = all.findLastIndex((state) => state.commit <= commit);
    return all.slice(Math.max(0, before));
  }

  #requireStored(operation: Operation, since: number): void {
    const isDurable = ({ commit }: TokenState): boolean => commit <= this.#getMajority();
    if (operation.kind === "register") {
      const { user, token } = operation;
      // An update within the same millisecond changes nothing.
      const isStored = this.#getStatesSince(token, since).some(
        (state) => isDurable(state) && state.active && state.user === user,
      );
      if (!isStored) this.#fail(`${user} registered ${token}, which was acknowledged but not stored`);
      return;
    }
    for (const token of this.#states.keys()) {
      const seen = this.#getStatesSince(token, since);
      const isRemoved = (state: TokenState): boolean =>
        !state.active || (operation.kind === "remove" && state.user !== operation.user);
      // A removal spares what is registered while it runs.
      const isNew = seen[0] === undefined || seen[0].commit > since;
      if (isNew || seen.slice(1).some((state) => state.active)) continue;
      if (!seen.some((state) => isDurable(state) && isRemoved(state)))
        this.#fail(`${describe(operation)} was acknowledged, but ${token} stayed active`);
    }
  }

  #checkToken(token: string, user: string, isActive: boolean): void {
    const registers = ({ operation }: Performed): boolean =>
      operation.kind === "register" && operation.token === token;
    const registersOther = (one: Performed): boolean =>
      registers(one) && (one.operation as { user: string }).user !== user;
    const registersOwn = (one: Performed): boolean => registers(one) && !registersOther(one);
    const removes = ({ operation }: Performed): boolean =>
      operation.kind === "remove all" ||
      (operation.kind === "remove" && operation.user === user) ||
      (operation.kind === "register" &&
        operation.user === user &&
        operation.previousToken === token &&
        operation.token !== token);
    /** Whether one of these may be the last: no acknowledged one of the others came after it. */
    const mayBeLast = (own: (one: Performed) => boolean, others: (one: Performed) => boolean): boolean =>
      this.#performed
        .filter(own)
        .some(
          (one) =>
            !this.#performed.some((other) => others(other) && other.end < Infinity && isAfter(other, one)),
        );

    if (!mayBeLast(registersOwn, registersOther))
      this.#fail(`${token} belongs to ${user}, although another user registered it later`);
    if (isActive && !mayBeLast(registersOwn, removes))
      this.#fail(`${token} of ${user} is active, although it was removed later`);
    if (!isActive && !mayBeLast(removes, registers))
      this.#fail(`${token} of ${user} is inactive, although it was registered later`);
  }
}

const describe = (operation: Operation): string =>
  operation.kind === "remove" ? `the removal of ${operation.user}` : operation.kind;

/** A removal that failed spares what is registered later, even where the store runs it late. */
const getEnd = ({ operation, end, failure }: Performed): number =>
  operation.kind === "register" ? end : Math.min(end, failure);

/**
 * Whether it began after the other had ended, or was submitted to the same process after it, which keeps
 * their order.
 */
const isAfter = (one: Performed, other: Performed): boolean =>
  one.start > getEnd(other) ||
  (one.host === other.host &&
    one.start > other.start &&
    other.end < Infinity &&
    areKeptInOrder(one.operation, other.operation));

/** A removal and another user's registration may overtake each other. */
const areKeptInOrder = (one: Operation, other: Operation): boolean =>
  one.kind !== "remove all" &&
  other.kind !== "remove all" &&
  (one.user === other.user || (one.kind === "register" && other.kind === "register"));
