import { findNearest } from "@topicsync/lib/nearest";
import { secretSettings, settingsSchema } from "../../schemas/settings.ts";

const known = new Set([
  ...Object.keys(settingsSchema.properties),
  ...secretSettings.map((name) => `${name}_FILE`),
]);

/**
 * Returns a fault for each variable whose name is within two letters of a setting's: a misspelled one would
 * be ignored silently. Letters are inserted, left out, replaced, or swapped with the next one.
 */
export function findMisspelledSettings(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(environment).flatMap(([variable, value]) => {
    if (value === undefined || value === "" || known.has(variable) || isServiceLink(variable, value))
      return [];
    const meant = findNearest(variable, known);
    return meant === undefined ? [] : [`${variable} is not a setting; did you mean ${meant}?`];
  });
}

/** Kubernetes and Docker describe a service `https` as HTTPS_PORT=tcp://10.0.0.1:443. */
export const isServiceLink = (variable: string, value: string): boolean =>
  variable.endsWith("_PORT") && /^(?:tcp|udp|sctp):\/\//.test(value);
