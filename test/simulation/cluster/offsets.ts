/** The committed offsets of one group, and those that open transactions are going to commit. */

export interface CommittedOffset {
  readonly offset: number;
  readonly metadata: string;
}

export const noOffset: CommittedOffset = { offset: -1, metadata: "" };

/** The offsets that a producer's transaction commits. */
interface PendingOffsets {
  epoch: number;
  open: Map<string, CommittedOffset> | undefined;
}

export class GroupOffsets {
  readonly #committed = new Map<string, CommittedOffset>();
  readonly #pending = new Map<number, PendingOffsets>();
  /** Their markers are written, but the group has not taken them over yet. */
  readonly #settling = new Set<ReadonlyMap<string, CommittedOffset>>();

  get(key: string): CommittedOffset | undefined {
    return this.#committed.get(key);
  }

  list(): ReadonlyMap<string, CommittedOffset> {
    return this.#committed;
  }

  set(key: string, offset: CommittedOffset): void {
    this.#committed.set(key, offset);
  }

  delete(key: string): void {
    this.#committed.delete(key);
  }

  /** Whether a transaction that is not completed moves the offset. */
  isPending(key: string): boolean {
    return (
      [...this.#pending.values()].some(({ open }) => open?.has(key) === true) ||
      [...this.#settling].some((offsets) => offsets.has(key))
    );
  }

  getOpen(producerId: number): ReadonlyMap<string, CommittedOffset> | undefined {
    return this.#pending.get(producerId)?.open;
  }

  /** The last epoch of the producer that is known here. */
  getEpoch(producerId: number): number {
    return this.#pending.get(producerId)?.epoch ?? -1;
  }

  add(producerId: number, epoch: number, offsets: ReadonlyMap<string, CommittedOffset>): void {
    const open = this.#pending.get(producerId)?.open ?? new Map<string, CommittedOffset>();
    for (const [key, offset] of offsets) open.set(key, offset);
    this.#pending.set(producerId, { epoch, open });
  }

  /** Writes the marker. Returns what commits, or drops, the offsets some time later; undefined when there are none. */
  mark(producerId: number, epoch: number, commit: boolean): (() => void) | undefined {
    const pending = this.#pending.get(producerId);
    const open = pending?.open;
    this.#pending.set(producerId, { epoch: Math.max(pending?.epoch ?? -1, epoch), open: undefined });
    if (open === undefined) return undefined;
    this.#settling.add(open);
    return () => {
      this.#settling.delete(open);
      if (commit) for (const [key, offset] of open) this.#committed.set(key, offset);
    };
  }
}
