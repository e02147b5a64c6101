/**
 * - `everything`: the topic has no conditions.
 * - `impossible`: no event meets its conditions.
 * - `list-only`: only an event with a list can meet them.
 * - `contained`: all of its events are events of other topics, which have more.
 * - `same`: topics with the same events.
 */
export const findingKinds = ["everything", "impossible", "list-only", "contained", "same"] as const;
export type FindingKind = (typeof findingKinds)[number];

/** At most this many topics are listed. */
export const maxListedTopics = 20;

/** Something about stored topics that may not be intended. */
export type Finding = FindingOfOne | ContainedTopic | SameTopics;

export type FindingOfOne =
  | { readonly kind: "everything"; readonly externalId: string }
  | {
      readonly kind: "impossible" | "list-only";
      readonly externalId: string;
      readonly conditions: readonly string[];
    };

export interface ContainedTopic {
  readonly kind: "contained";
  readonly externalId: string;
  /** The topics that contain it: at most 20 of them, of `total`. */
  readonly in: readonly string[];
  readonly total: number;
}

export interface SameTopics {
  readonly kind: "same";
  /** At most 20 of them, of `total`. */
  readonly externalIds: readonly string[];
  readonly total: number;
}
