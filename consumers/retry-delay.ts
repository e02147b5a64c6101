const firstDelayMs = 250;

const maxDelaysMs = {
  /** Short, because the failed call has already waited for its own timeout. */
  failure: 1_000,
  /** Longer: each claim fences the other process, which may be the one that the group has chosen. */
  fence: 15_000,
  /** How soon a position is used that a person sets for the cluster that is there. */
  "other-cluster": 5_000,
} as const;

/** How long a reader waits before its next claim, after this many failures. */
export const getRetryDelayMs = (failures: number, after: keyof typeof maxDelaysMs): number =>
  Math.min(firstDelayMs * 2 ** (failures - 1), maxDelaysMs[after]);
