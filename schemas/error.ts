import type { FromSchema } from "json-schema-to-ts";

import { named, object, objects, text } from "./shapes.ts";

/** The body of every HTTP error: the ServiceNow platform's shape plus `code` and `details` for programs. */
export const errorBodySchema = named("error-body", {
  status: { const: "failure" },
  error: object({
    message: text("What is wrong, as a sentence."),
    detail: text("How to fix it, or further information."),
    code: { type: "string", pattern: "^[A-Z][A-Z_]*$" },
    details: objects({
      path: text("JSON Pointer (RFC 6901) to the invalid member."),
      message: text(),
    }),
  }),
});

export type ErrorBody = FromSchema<typeof errorBodySchema>;
