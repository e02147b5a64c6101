import { useAddress } from "../address.ts";
import { CreateTopic } from "./topics/create.tsx";
import { readDraft } from "./topics/form/draft.ts";
import { TopicPage } from "./topics/topic-page.tsx";
import { TopicList } from "./topics/list.tsx";

export function Topics() {
  const { item, query } = useAddress("/topics");
  if (item !== undefined) return <TopicPage key={item} id={item} />;
  return query.has("create") ? <CreateTopic from={readDraft(query)} /> : <TopicList />;
}
