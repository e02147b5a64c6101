import { isOperator, signs, type Condition, type Filter } from "./filter.ts";

/** The text of a filter; reading it again gives the same tree. */
export const printFilter = ({ conditions }: Filter): string => conditions.map(printCondition).join("&");

/** The text of one condition. */
export function printCondition({ path, operator, values }: Condition): string {
  const last = path.at(-1) ?? "";
  const name = path.map(encodedName).join(".");
  // A name that would be read as an operator gets one behind it.
  const left = path.length > 1 && isOperator(last) ? `${name}.${operator}=` : `${name}${signs[operator]}`;
  return left + values.map(encodedValue).join(",");
}

/** Everything that would be read as something else. */
const encodedName = (name: string): string => encoded(name, /[%&=<>!;.?]/gu);
const encodedValue = (value: string): string => encoded(value, /[%&,=;]/gu);

const encoded = (text: string, special: RegExp): string =>
  text.replaceAll(special, percent).replaceAll(/^\s+|\s+$/gu, (space) => encodeURIComponent(space));

const percent = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
