import { RE2JS, RE2JSException } from "re2js";

/** An expression that tests a text in linear time. */
export interface RegularExpression {
  test(text: string): boolean;
}

/** A larger program is a short pattern with nested repetitions, `((a{50}){50}){50}`. */
const maxProgramSize = 2_000;

/**
 * Compiles a regular expression of RE2's syntax, which has no back references and no look-around. Throws an
 * Error that says what is wrong with it, beginning with a verb.
 */
export function compileRegex(pattern: string): RegularExpression {
  let expression: RE2JS;
  try {
    expression = RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const reason = error.message.replace(/^error parsing regexp: /, "");
    throw new Error(`has a regular expression that RE2 rejects: ${reason}`, { cause: error });
  }
  if (expression.programSize() > maxProgramSize)
    throw new Error("has a regular expression with too many repetitions");
  return expression;
}
