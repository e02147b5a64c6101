/** What a member of the group knows of a partition that it reads. */
export interface PartitionState {
  /** The next one to fetch; -1 before the first seek and fetch. */
  offset: number;
  isDelivering: boolean;
  /** How often the partition was repositioned: what was fetched before is outdated. */
  seeks: number;
  sequence: object;
  readonly waitForChange: () => Promise<void>;
  readonly wake: () => void;
}

export function createPartitionState(): PartitionState {
  let waiting: (() => void) | undefined;
  return {
    offset: -1,
    isDelivering: false,
    seeks: 0,
    sequence: {},
    waitForChange: () =>
      new Promise((resolve) => {
        waiting = resolve;
      }),
    wake() {
      waiting?.();
      waiting = undefined;
    },
  };
}
