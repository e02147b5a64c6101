import { FilterSyntaxError, type FilterMember, parseFilter, describeFilter } from "@topicsync/filters";
import { Caret } from "../../components/caret.tsx";

/** Validates a filter with the parser of the service. */
export function findFilterError(text: string): FilterSyntaxError | undefined {
  try {
    parseFilter(text);
    return undefined;
  } catch (error) {
    if (error instanceof FilterSyntaxError) return error;
    throw error;
  }
}

/** A filter in English, or its syntax error with a caret. */
export function FilterDescription({
  member,
  text,
}: {
  readonly member: FilterMember;
  readonly text: string;
}) {
  const error = findFilterError(text);
  if (error !== undefined)
    return <Caret text={text} position={error.position} message={`The filter ${error.problem}`} />;
  const { conditions } = describeFilter(parseFilter(text, member));
  if (conditions.length === 0) return <>Matches every event.</>;
  return <>Matches if {conditions.join(" and ")}.</>;
}
