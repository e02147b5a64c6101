import { atom, limited, named, partial } from "./shapes.ts";

/**
 * The parameters of a query. They are text in a URL: whole numbers, `true` and `false` are converted before the
 * check.
 */
export const query = <const Parameters extends Readonly<Record<string, object>>>(
  $id: string,
  parameters: Parameters,
) => named($id, partial(parameters));

export const trueOrFalse = atom({ type: "boolean", expected: "true or false" });

/** The parameters of a list that is returned page by page. */
export const page = (maximum: number, size: number) =>
  ({
    limit: {
      type: "integer",
      minimum: 1,
      maximum,
      expected: `a whole number from 1 to ${maximum}`,
      default: size,
      description: `Page size, 1 to ${maximum}.`,
    },
    after: limited(1_000, "Cursor: the `next` of the previous page."),
  }) as const;
