/** Quoted strings, separators, and what is between them. */
const tokens = /"(?:\\.|[^"\\])*(?:"|\\?$)|[,;]|[^",;]+/gs;

/**
 * An `Accept` header without the parameters of its media ranges, except for their weights: a charset or a
 * profile says how the caller would like its JSON, not that it takes none (RFC 9110, section 12.5.1).
 */
export function stripParameters(accept: string): string {
  if (!accept.includes(";")) return accept;
  const ranges: string[][] = [[""]];
  for (const token of accept.match(tokens) ?? []) {
    const parts = ranges.at(-1) ?? [];
    if (token === ",") ranges.push([""]);
    else if (token === ";") parts.push("");
    else parts.push(`${parts.pop() ?? ""}${token}`);
  }
  return ranges
    .map((parts) => parts.filter((part, index) => index === 0 || isWeight(part)).join(";"))
    .join(",");
}

const isWeight = (parameter: string): boolean => /^q=/i.test(parameter.trim());
