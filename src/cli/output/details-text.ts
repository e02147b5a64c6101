import { noDetails, pickDetails, type TopicDetails } from "../../topics/details/details.ts";

/** The members of details, as texts for people; "" for what is not said. */
export const listDetails = (details: TopicDetails): [member: string, text: string][] =>
  Object.entries<Value>({ ...pickDetails(details) }).map(([member, value]) => [
    member,
    value === noDetails[member as keyof TopicDetails] ? "" : formatValue(value),
  ]);

type Value = TopicDetails[keyof TopicDetails];

function formatValue(value: Value): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value))
    return value.map((one) => (typeof one === "string" ? one : formatConsumer(one))).join(", ");
  if (typeof value === "object")
    return Object.entries(value ?? {})
      .map((label) => label.join("="))
      .join(", ");
  return value ? "yes" : "";
}

const formatConsumer = ({ name, contact }: TopicDetails["consumers"][number]): string =>
  contact === "" ? name : `${name} (${contact})`;
