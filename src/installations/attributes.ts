/** What an app says about its device, by name. */
export type DeviceAttributes = Readonly<Record<string, string>>;

/** Returns those of a request, without nulls; undefined if it says nothing. */
export const readDeviceAttributes = (
  given: Readonly<Record<string, string | null>> | null | undefined,
): DeviceAttributes | undefined =>
  given ? Object.fromEntries(Object.entries(given).filter(isSet)) : undefined;

const isSet = (entry: readonly [string, string | null]): entry is [string, string] => entry[1] !== null;
