/** The committed offsets of one group, and those that open transactions are going to commit. */

export interface CommittedOffset {
  readonly offset: number;
  readonly metadata: string;
}

export const noOffset: CommittedOffset = { offset: -1, metadata: "" };

/** The number of a write, and what it wrote. */
interface Write {
  readonly order: number;
  readonly offset: CommittedOffset;
}

/** The offsets that a producer's transaction commits. */
interface PendingOffsets {
  epoch: number;
  open: Map<string, Write> | undefined;
}

export class GroupOffsets {
  readonly #committed = new Map<string, Write>();
  readonly #pending = new Map<number, PendingOffsets>();
  /** Their markers are written, but the group has not taken them over yet. */
  readonly #settling = new Set<Map<string, Write>>();
  /** The number of the last deletion. */
  readonly #deleted = new Map<string, number>();
  #writes = 0;

  get(key: string): CommittedOffset | undefined {
    return this.#committed.get(key)?.offset;
  }

  /** Those that are committed, or going to be. */
  list(): readonly string[] {
    return [...this.#committed.keys(), ...this.#listPending()];
  }

  set(key: string, offset: CommittedOffset): void {
    this.#committed.set(key, this.#write(offset));
  }

  /** Also what transactions are going to commit. */
  delete(key: string): void {
    this.#committed.delete(key);
    this.#deleted.set(key, (this.#writes += 1));
  }

  /** Whether a transaction that is not completed moves the offset. */
  isPending(key: string): boolean {
    return this.#listPending().includes(key);
  }

  /** All that a transaction has, also what was deleted since. */
  getOpen(producerId: number): ReadonlyMap<string, CommittedOffset> | undefined {
    const open = this.#pending.get(producerId)?.open;
    return open && new Map([...open].map(([key, { offset }]) => [key, offset]));
  }

  /** The last epoch of the producer that is known here. */
  getEpoch(producerId: number): number {
    return this.#pending.get(producerId)?.epoch ?? -1;
  }

  add(producerId: number, epoch: number, offsets: ReadonlyMap<string, CommittedOffset>): void {
    const open = this.#pending.get(producerId)?.open ?? new Map<string, Write>();
    for (const [key, offset] of offsets) open.set(key, this.#write(offset));
    this.#pending.set(producerId, { epoch, open });
  }

  /**
   * Writes the marker. Returns what commits, or drops, the offsets some time later; undefined when there are
   * none.
   */
  mark(producerId: number, epoch: number, commit: boolean): (() => void) | undefined {
    const pending = this.#pending.get(producerId);
    const open = pending?.open;
    this.#pending.set(producerId, { epoch: Math.max(pending?.epoch ?? -1, epoch), open: undefined });
    if (open === undefined) return undefined;
    this.#settling.add(open);
    return () => {
      this.#settling.delete(open);
      if (!commit) return;
      // What was committed or deleted after it was added to the transaction stays so.
      for (const [key, write] of open)
        if (this.#isThere(key, write) && write.order > (this.#committed.get(key)?.order ?? 0))
          this.#committed.set(key, write);
    };
  }

  #write(offset: CommittedOffset): Write {
    this.#writes += 1;
    return { order: this.#writes, offset };
  }

  /** Whether what a transaction wrote was not deleted since. */
  #isThere(key: string, { order }: Write): boolean {
    return order > (this.#deleted.get(key) ?? 0);
  }

  #listPending(): readonly string[] {
    const open = [...this.#pending.values()].flatMap((one) => one.open ?? []);
    return [...open, ...this.#settling].flatMap((offsets) =>
      [...offsets].filter(([key, write]) => this.#isThere(key, write)).map(([key]) => key),
    );
  }
}
