import type { PlannedState } from "../../plans/plan.ts";
import { noDetails, pickDetails, type TopicDetails } from "../../topics/details/details.ts";

/** The members of details, as texts for people; "" for what is not said. */
export const listDetails = (details: TopicDetails): [member: string, text: string][] =>
  Object.entries<TopicDetails[keyof TopicDetails]>({ ...pickDetails(details) }).map(([member, value]) => [
    member,
    value === noDetails[member as keyof TopicDetails] ? "" : formatMemberValue(value),
  ]);

/** Formats the value of a member of a topic or its details for people; "" for one that says nothing. */
export function formatMemberValue(value: PlannedState[keyof PlannedState] | null): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value))
    return value.map((one) => (typeof one === "string" ? one : formatConsumer(one))).join(", ");
  if (typeof value === "object")
    return Object.entries(value ?? {})
      .map((label) => label.join("="))
      .join(", ");
  return value ? "yes" : "";
}

const formatConsumer = ({ name, contact = "" }: NonNullable<PlannedState["consumers"]>[number]): string =>
  contact === "" ? name : `${name} (${contact})`;
