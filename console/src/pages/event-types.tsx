import { useAddress } from "../address.ts";
import { EventTypePage } from "./event-types/details.tsx";
import { EventTypeListPage } from "./event-types/list.tsx";

export function EventTypes() {
  const { item } = useAddress("/event-types");
  return item === undefined ? <EventTypeListPage /> : <EventTypePage key={item} name={item} />;
}
