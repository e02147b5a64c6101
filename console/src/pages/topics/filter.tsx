import { FilterSyntaxError, type FilterMember } from "../../../../src/matching/filter/filter.ts";
import { parseFilter } from "../../../../src/matching/filter/parse.ts";
import { describeFilter } from "../../../../src/matching/filter/to-text.ts";
import { Caret } from "../../components/caret.tsx";

/** Why a filter cannot be read; undefined when it can. The same code says it that the service runs. */
export function filterFault(text: string): FilterSyntaxError | undefined {
  try {
    parseFilter(text);
    return undefined;
  } catch (error) {
    if (error instanceof FilterSyntaxError) return error;
    throw error;
  }
}

/** A filter in words, or why it cannot be read, with a caret at the fault. */
export function FilterWords({ member, text }: { readonly member: FilterMember; readonly text: string }) {
  const fault = filterFault(text);
  if (fault !== undefined)
    return <Caret text={text} position={fault.position} message={`The filter ${fault.problem}`} />;
  const { conditions } = describeFilter(parseFilter(text, member));
  if (conditions.length === 0) return <>Matches every event.</>;
  return <>Matches where {conditions.join(" and ")}.</>;
}
