import type { TopicReader } from "../../topics/listing.ts";
import type { ListedTopic } from "../../topics/topic.ts";

/** Streams the topics with these external ids, or all active ones. Throws an error for an unknown one. */
export async function* readChosenTopics(
  reader: Pick<TopicReader, "findByAnyId" | "readAll">,
  externalIds: readonly string[],
): AsyncGenerator<ListedTopic> {
  if (externalIds.length === 0) yield* reader.readAll({ state: "active", namespaces: "all" });
  for (const externalId of externalIds) {
    const found = await reader.findByAnyId(externalId);
    if (found === undefined)
      throw new Error(
        `there is no topic with the external id "${externalId}"; \`topicsync topics list\` shows all topics`,
      );
    yield found;
  }
}
