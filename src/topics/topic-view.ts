import type { SourceView, TopicDetail, TopicView } from "../../schemas/topic-view.ts";
import { FilterSyntaxError, type FilterMember } from "../matching/filter/filter.ts";
import { parseFilter } from "../matching/filter/parse.ts";
import { describeFilter } from "../matching/filter/to-text.ts";
import type { ListedTopic, Source, TopicCondition } from "./topic.ts";

/** What became of a topic. */
export function getState({ retired }: ListedTopic): TopicCondition {
  if (retired === undefined) return "stored";
  return retired.retiredBy.kind === "http" ? "disabled" : "retired";
}

/** A topic as it is listed. */
export function toTopicView(shown: ListedTopic): TopicView {
  const { topic, retired } = shown;
  const { externalId, name, namespace, headerQuery, contentQuery, id, previous } = topic;
  return {
    ...{ externalId, name, namespace, headerQuery, contentQuery, id },
    state: getState(shown),
    source: sourceView(topic.source),
    createdOn: topic.createdOn.toISOString(),
    updatedOn: topic.updatedOn.toISOString(),
    ...(retired && {
      retiredOn: retired.retiredOn.toISOString(),
      retiredBy: sourceView(retired.retiredBy),
    }),
    ...(previous && {
      previous: {
        ...previous,
        source: sourceView(previous.source),
        updatedOn: previous.updatedOn.toISOString(),
      },
    }),
  };
}

/** Everything about a topic. */
export const toTopicDetail = (shown: ListedTopic): TopicDetail => ({
  ...toTopicView(shown),
  filters: {
    headerQuery: inWords("headerQuery", shown.topic.headerQuery),
    contentQuery: inWords("contentQuery", shown.topic.contentQuery),
  },
});

const sourceView = (source: Source): SourceView => ({ ...source });

/** A filter in words; one that was stored before filters were checked may not be readable. */
function inWords(member: FilterMember, text: string): TopicDetail["filters"]["headerQuery"] {
  try {
    const { conditions, notes } = describeFilter(parseFilter(text, member));
    return { conditions: [...conditions], notes: [...notes], fault: null };
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
    return { conditions: [], notes: [], fault: { message: error.problem, position: error.position } };
  }
}
