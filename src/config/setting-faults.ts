import type { Fault } from "@topicsync/lib/errors";
import { findNearest } from "@topicsync/lib/nearest";
import { secretSettings, settingsSchema, type SettingName } from "../../schemas/settings.ts";

/** A fault in the words of somebody who sets environment variables, with causes that nobody sees. */
export function describeSettingFault(
  { path, message }: Fault,
  raw: Readonly<Record<string, unknown>>,
): string {
  const name = getSettingName(path);
  const value = raw[name];
  const schema = isSettingName(name) ? settingsSchema.properties[name] : {};
  const type = "type" in schema ? schema.type : undefined;
  const isText = typeof value === "string";
  const rule =
    isText && type === "boolean"
      ? "must be true or false"
      : isText && type === "integer"
        ? "must be a whole number"
        : message;
  return `${name} ${rule}${isText ? findHiddenCause(name, value) : ""}`;
}

function findHiddenCause(name: string, value: string): string {
  if (isServiceLink(name, value))
    return `, but is an address: Kubernetes and Docker set it for a service "${name.slice(0, -5).toLowerCase().replaceAll("_", "-")}"; set it yourself, rename the service, or turn service links off`;
  if (value.startsWith("\uFEFF")) return ", but begins with a byte order mark";
  if (/[\r\n]$/.test(value)) return ", but ends with a line break";
  return /^\s|\s$/.test(value) ? ", but begins or ends with white space" : "";
}

const isSettingName = (name: string): name is SettingName => Object.hasOwn(settingsSchema.properties, name);

const getSettingName = (path: string): string => path.split("/").slice(1, 2).join("") || "The environment";

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
const isServiceLink = (variable: string, value: string): boolean =>
  variable.endsWith("_PORT") && /^(?:tcp|udp|sctp):\/\//.test(value);
