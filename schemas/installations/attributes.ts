import { limited, nullable } from "../shapes.ts";

/** Names become a part of a path in the store, so they have no dots. */
const attributeName = {
  pattern: "^[A-Za-z][A-Za-z0-9_-]{0,99}$",
  expected: "a letter, followed by at most 99 letters, digits, _ and -, such as appVersion",
} as const;

const attributeValue = limited(100, "Any text.");

/** What an app says about its device. */
export const attributes = (description: string) =>
  ({
    type: "object",
    maxProperties: 20,
    propertyNames: attributeName,
    additionalProperties: attributeValue,
    description,
  }) as const;

/** The same in a request: a null is the same as no member. */
export const givenAttributes = (description: string) =>
  nullable({ ...attributes(description), additionalProperties: nullable(attributeValue) });
