import { secretSettings, settingsSchema } from "../schemas/settings.ts";

const known = new Set([
  ...Object.keys(settingsSchema.properties),
  ...secretSettings.map((name) => `${name}_FILE`),
]);
const maxDistance = 2;

/**
 * Returns a fault for each variable whose name is within two letters of a setting's: a misspelled one would
 * be ignored silently. Letters are inserted, left out, replaced, or swapped with the next one.
 */
export function findMisspelledSettings(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(environment).flatMap(([variable, value]) => {
    if (value === undefined || value === "" || known.has(variable) || isServiceLink(variable, value))
      return [];
    const meant = findNearest(variable);
    return meant === undefined ? [] : [`${variable} is not a setting; did you mean ${meant}?`];
  });
}

/** Kubernetes and Docker describe a service `https` as HTTPS_PORT=tcp://10.0.0.1:443. */
const isServiceLink = (variable: string, value: string): boolean =>
  variable.endsWith("_PORT") && /^(?:tcp|udp|sctp):\/\//.test(value);

function findNearest(variable: string): string | undefined {
  let nearest: string | undefined;
  let limit = maxDistance;
  for (const name of known) {
    if (Math.abs(name.length - variable.length) > limit) continue;
    const distance = measureDistance(variable, name);
    if (distance > limit || (distance === limit && nearest !== undefined)) continue;
    nearest = name;
    limit = distance;
  }
  return nearest;
}

/** The distance of Damerau and Levenshtein, with at most one change per place. */
function measureDistance(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let at = 1; at <= other.length; at++) {
      const replaced = (last[at - 1] ?? 0) + Number(one[row - 1] !== other[at - 1]);
      const isSwap = row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      const swapped = isSwap ? (beforeLast[at - 2] ?? 0) + 1 : Infinity;
      current.push(Math.min((last[at] ?? 0) + 1, (current[at - 1] ?? 0) + 1, replaced, swapped));
    }
    beforeLast = last;
    last = current;
  }
  return last[other.length] ?? 0;
}
