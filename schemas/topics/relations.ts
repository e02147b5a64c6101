import type { FromSchema } from "json-schema-to-ts";

import { count, flag, list, named, object, objects, text } from "../shapes.ts";

const topics = object({
  total: count(),
  topics: objects("The first 20 by external id.", {
    id: text(),
    externalId: text(),
    name: text(),
    namespace: text(),
  }),
});

export const topicRelationsSchema = named("topic-relations", {
  externalId: text(),
  impossible: list(
    text(),
    "Conditions that no event meets all at once, so that no event belongs to the topic.",
  ),
  same: { ...topics, description: "Topics with the same events." },
  containing: { ...topics, description: "Topics with all of its events, and others." },
  complete: flag(
    "False if there may be more: too many topics to compare, or no event of the topic was found.",
  ),
});

export type TopicRelationsView = FromSchema<typeof topicRelationsSchema>;
