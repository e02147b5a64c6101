import { useAddress } from "../address.ts";
import { SetList } from "./sets/list.tsx";
import { SetPage } from "./sets/set-page.tsx";

export function Sets() {
  const { item } = useAddress("/sets");
  return item === undefined ? <SetList /> : <SetPage key={item} name={item} />;
}
