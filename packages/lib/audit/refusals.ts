/**
 * The audit of failed logins and refused requests, which strangers can cause at any rate.
 *
 * Invariant: in a minute, at most `maxSubjects` lines report something for the first time, and as many and
 * two report what was only counted.
 */
import type { Audit, Origin, RefusalEvent } from "./audit.ts";
import { schedule, type Cancel } from "../platform.ts";

/** Without the number: that is counted here. */
export type Refusal = RefusalEvent extends infer E
  ? E extends RefusalEvent
    ? Omit<E, "count">
    : never
  : never;

export type RecordRefusal = (refusal: Refusal, origin: Origin) => void;

const intervalMs = 60_000;
/** Different users, addresses and operations in a minute; further ones are counted together. */
const maxSubjects = 100;

interface Counted {
  readonly refusal: Refusal;
  readonly origin: Origin;
  /** Since the line was written. */
  count: number;
}

export class RefusalAudit {
  readonly #audit: Audit;
  #counted = new Map<string, Counted>();
  #others = new Map<Refusal["action"], Counted>();
  #cancel: Cancel | undefined;

  constructor(audit: Audit) {
    this.#audit = audit;
  }

  /** Writes the first of its kind at once, and the number of the others after a minute. */
  readonly record: RecordRefusal = (refusal, origin) => {
    if (!this.#audit.on) return;
    this.#cancel ??= schedule(intervalMs, () => {
      this.flush();
    });
    const key = JSON.stringify([refusal, origin.by, origin.from]);
    const known = this.#counted.get(key);
    if (known !== undefined) known.count += 1;
    else if (this.#counted.size < maxSubjects) {
      this.#counted.set(key, { refusal, origin, count: 0 });
      this.#audit.record({ ...refusal, count: 1 }, origin);
    } else this.#countOther(refusal);
  };

  /** Writes what was counted. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const counted = [...this.#counted.values(), ...this.#others.values()];
    this.#counted = new Map();
    this.#others = new Map();
    for (const { refusal, origin, count } of counted)
      if (count > 0) this.#audit.record({ ...refusal, count }, origin);
  }

  #countOther({ action }: Refusal): void {
    const others = this.#others.get(action);
    if (others !== undefined) {
      others.count += 1;
      return;
    }
    const refusal: Refusal =
      action === "login.failed"
        ? { action, user: several, credentials: several }
        : { action, operation: several, reason: several };
    this.#others.set(action, { refusal, origin: { via: "http", by: several, from: several }, count: 1 });
  }
}

const several = "(several)";
