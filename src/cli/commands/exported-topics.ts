import { addDetails, type TopicSources } from "../../topics/details-search.ts";
import { streamTopicsAt, toDetailsAt, type TopicHistory } from "../../topics/history.ts";
import type { ListedTopic } from "../../topics/topic.ts";
import { streamTopics } from "../../topics/topic-pages.ts";
import { splitTopics } from "../../topics/usage.ts";
import { toTopicQuery, type TopicChoiceFlags } from "./topic-choice.ts";

interface ExportSources extends TopicSources {
  readonly topicHistory: TopicHistory;
}

interface ExportChoice extends TopicChoiceFlags {
  readonly at?: Date;
}

/** Streams the chosen topics, also as they were, with the details that they had. */
export async function* streamExported(
  sources: ExportSources,
  choice: ExportChoice,
  { withDetails = false } = {},
): AsyncGenerator<ListedTopic> {
  const { at, set } = choice;
  const query = toTopicQuery(choice);
  if (at === undefined) {
    yield* streamTopics(sources, query, { withDetails });
    return;
  }
  const details = toDetailsAt(sources.topicHistory, at);
  for await (const batch of splitTopics(streamTopicsAt(sources.topicHistory, at, query))) {
    if (!withDetails && set === undefined) yield* batch;
    else
      for (const one of await addDetails(details, batch, "all"))
        if (set === undefined || one.details?.membership?.set === set) yield one;
  }
}
