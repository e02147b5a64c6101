import type { Fault } from "@topicsync/lib/errors";
import { settingsSchema, type SettingName } from "../../schemas/settings.ts";
import { isServiceLink } from "./misspelled-settings.ts";

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
