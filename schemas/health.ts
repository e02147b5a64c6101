/** The response of `GET /healthz`. */
export const healthSchema = {
  $id: "health",
  type: "object",
  additionalProperties: false,
  required: ["status"],
  properties: { status: { const: "alive" } },
} as const;

/** The response of `GET /readyz`. */
export const readinessSchema = {
  $id: "readiness",
  type: "object",
  additionalProperties: false,
  required: ["status", "checks"],
  properties: {
    status: { enum: ["ready", "not ready"] },
    checks: {
      type: "object",
      description: "The checks by name.",
      additionalProperties: {
        type: "object",
        additionalProperties: false,
        required: ["ok"],
        properties: {
          ok: { type: "boolean" },
          reason: {
            type: "string",
            description: "Why the check fails. Shown to users with the right `status.read`.",
          },
        },
      },
    },
  },
} as const;
