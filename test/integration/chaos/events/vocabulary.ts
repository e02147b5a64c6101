import type { Random } from "../../../support/random.ts";

/** The values that events have and filters look for. */
export interface Vocabulary {
  readonly pickEventType: () => string;
  readonly pickSite: () => string;
}

/** Many topics want its events. */
export const popularType = "PopularEvent";
/** No topic wants its events. */
export const unwantedType = "UnwantedEvent";

export const severities = ["Critical", "Major", "Minor", "Warning", "Cleared"] as const;
export const regions = ["north", "south", "east", "west", "größer"] as const;
/** Filters have to escape some of them. */
export const tags = ["dsl", "night", "x,y", "p&q=r", "a;b", "100%", "two words", "1", "true"] as const;
export const maxCount = 100;
/** No event has a higher priority. */
export const maxPriority = 1_000;

export const pickTime = (random: Random): string =>
  new Date(Date.UTC(2026, 0, 1) + random.between(0, 365) * 86_400_000).toISOString();

/** An event meets the filters of a few topics, however many there are. */
const topicsPerType = 12;

export function createVocabulary(random: Random, topicCount: number): Vocabulary {
  const types = Math.max(4, Math.round(topicCount / topicsPerType));
  return {
    pickEventType: () => `Event${random.between(1, types)}`,
    pickSite: () => `site-${random.between(1, 12)}`,
  };
}
