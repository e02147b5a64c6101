/** The records of a partition that were counted: a batch that is repeated is not counted again. */
export class CountedRange {
  #epoch = 0;
  #start = 0;
  #end = 0;

  /** Returns whether the record was not counted before. */
  add(offset: number, epoch: number): boolean {
    const isSameLog = epoch === this.#epoch;
    if (isSameLog && offset >= this.#start && offset < this.#end) return false;
    if (!isSameLog || offset < this.#start) this.#start = offset;
    this.#epoch = epoch;
    this.#end = offset + 1;
    return true;
  }
}
