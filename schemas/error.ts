import type { FromSchema } from "json-schema-to-ts";

/** The body of every HTTP error: the ServiceNow platform's shape plus `code` and `details` for programs. */
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
        message: { type: "string", description: "What is wrong, as a sentence." },
        detail: { type: "string", description: "How to fix it, or further information." },
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
                description: "JSON Pointer (RFC 6901) to the invalid member.",
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
