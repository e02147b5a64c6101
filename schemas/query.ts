// Members of a query are text in a URL. Whole numbers, `true` and `false` are converted before the check.

/** A query parameter with the size of a page. */
export const pageSize = (maximum: number, size: number) =>
  ({
    type: "integer",
    minimum: 1,
    maximum,
    expected: `a whole number from 1 to ${maximum}`,
    default: size,
    description: `Page size, 1 to ${maximum}.`,
  }) as const;

/** A query parameter that is `true` or `false`. */
export const trueOrFalse = { type: "boolean", expected: "true or false" } as const;

/** A query parameter that continues a list. */
export const pageCursor = {
  type: "string",
  format: "text",
  minLength: 1,
  maxLength: 1_000,
  description: "Cursor: the `next` of the previous page.",
} as const;
