import { useAddress } from "../address.ts";
import { CreateTopic } from "./topics/create.tsx";
import { TopicList } from "./topics/list.tsx";
import { OneTopic } from "./topics/details.tsx";

/** The topics: all of them, one, or a new one. */
export function Topics() {
  const { item, query } = useAddress("/topics");
  if (item !== undefined) return <OneTopic key={item} id={item} />;
  return query.has("create") ? <CreateTopic /> : <TopicList />;
}
