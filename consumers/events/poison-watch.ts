import { ConfigurationError, getErrorMessage, RejectionError, UnavailableError } from "@topicsync/lib/errors";
import { FencedError, type LogRecord } from "@topicsync/kafka";

/**
 * After so many identical failures for no foreseen reason, an event that is alone in its batch becomes a dead
 * letter.
 */
const maxUnexpectedFailures = 5;

export type PoisonWatch = ReturnType<typeof createPoisonWatch>;

/** Finds the event that fails again and again although Kafka responds and denies nothing. */
export function createPoisonWatch() {
  const nothing = { offset: -1, message: "", count: 0 };
  let last = nothing;
  return {
    reset(): void {
      last = nothing;
    },
    /** Throws a RejectionError if it is the record that failed too often. */
    check({ offset }: LogRecord): void {
      if (offset !== last.offset || last.count < maxUnexpectedFailures) return;
      throw new RejectionError("UNEXPECTED_ERROR", `The event cannot be forwarded: ${last.message}`);
    },
    onFailure([record, ...others]: readonly LogRecord[], error: unknown): void {
      const isForeseen =
        error instanceof UnavailableError ||
        error instanceof FencedError ||
        error instanceof ConfigurationError;
      if (isForeseen || record === undefined || others.length > 0) return;
      const { offset } = record;
      const message = getErrorMessage(error);
      const isSame = last.offset === offset && last.message === message;
      last = { offset, message, count: isSame ? last.count + 1 : 1 };
    },
  };
}
