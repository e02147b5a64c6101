import type { FromSchema } from "json-schema-to-ts";

/** The one body of every HTTP error: the ServiceNow platform's shape plus `code` and `details` for programs. */
export const errorBodySchema = {
  $id: "error-body",
  type: "object",
  additionalProperties: false,
  required: ["error", "status"],
  properties: {
    status: { const: "failure" },
    error: {
      type: "object",
      additionalProperties: false,
      required: ["message", "detail", "code", "details"],
      properties: {
        message: { type: "string", description: "What is wrong, in a sentence." },
        detail: { type: "string", description: "How to mend it, or what else is known." },
        code: { type: "string", pattern: "^[A-Z][A-Z_]*$" },
        details: {
          type: "array",
          items: {
            type: "object",
            additionalProperties: false,
            required: ["path", "message"],
            properties: {
              path: {
                type: "string",
                description: "JSON Pointer (RFC 6901) to the member that is at fault.",
              },
              message: { type: "string" },
            },
          },
        },
      },
    },
  },
} as const;

export type ErrorBody = FromSchema<typeof errorBodySchema>;
