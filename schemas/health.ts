import { flag, named, object, text } from "./shapes.ts";

/** The response of `GET /healthz`. */
export const healthSchema = named("health", { status: { const: "alive" } });

/** The response of `GET /readyz`. */
export const readinessSchema = named("readiness", {
  status: { enum: ["ready", "not ready"] },
  checks: {
    type: "object",
    description: "The checks by name.",
    additionalProperties: object({
      ok: flag(),
      "reason?": text("Why the check fails. Shown to users with the right `status.read`."),
    }),
  },
});
