import { RejectionError } from "@topicsync/lib/errors";

/** The rejection of files from another repository than the one that a set is applied from. */
export const createOriginRejection = (
  set: string,
  stored: string,
  given: string | undefined,
): RejectionError =>
  new RejectionError(
    "SET_ORIGIN_MISMATCH",
    `The set "${set}" is applied from ${stored}, and these files are from ${given ?? "an unknown origin"}. ` +
      "Choose another name for the set, or use --origin if it is the same repository.",
  );
