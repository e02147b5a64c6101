import { healthSchema, readinessSchema } from "../../schemas/health.ts";
import { hasRight } from "../users/rights.ts";
import { operation, type Operation } from "./framework/operation.ts";
import type { CheckResult, CheckResults } from "./framework/services.ts";

/** The reasons contain addresses and errors of MongoDB and Kafka. */
export const hideReasons = (checks: CheckResults): Record<string, CheckResult> =>
  Object.fromEntries(Object.entries(checks).map(([name, { ok }]) => [name, { ok }]));

/**
 * The probes and the metrics. They need no credentials, since they reveal neither stored data nor texts of
 * errors.
 */
export const healthOperations: readonly Operation[] = [
  operation({
    id: "getHealth",
    method: "GET",
    paths: ["/healthz"],
    access: "anybody",
    tag: "operation",
    summary: "Liveness probe",
    description: "Responds as long as the process is alive.",
    replies: { 200: { description: "The process is alive.", schema: healthSchema } },
    handle: () => ({ status: 200, json: { status: "alive" } }),
  }),
  operation({
    id: "getReadiness",
    method: "GET",
    paths: ["/readyz"],
    access: "anybody",
    tag: "operation",
    summary: "Readiness probe",
    optionalLogin: true,
    // The pings, which take up to 2 s, follow.
    loginTimeoutMs: 900,
    description:
      "Checks MongoDB, Kafka and the consumers. Credentials are optional: users with the right `status.read` also get the reason for each failed check, unless their credentials cannot be checked at the moment. MongoDB and Kafka are checked at most once a second.",
    replies: {
      200: { description: "All checks passed.", schema: readinessSchema },
      503: { description: "At least one check failed.", schema: readinessSchema },
    },
    async handle({ user }, { checkReadiness }) {
      const found = await checkReadiness();
      const checks = hasRight(user, "status.read") ? found : hideReasons(found);
      const ready = Object.values(checks).every(({ ok }) => ok);
      return { status: ready ? 200 : 503, json: { status: ready ? "ready" : "not ready", checks } };
    },
  }),
  operation({
    id: "getMetrics",
    method: "GET",
    paths: ["/metrics"],
    access: "anybody",
    tag: "operation",
    summary: "Prometheus metrics",
    description: "In Prometheus' text format, at most one second old.",
    replies: { 200: { description: "The metrics.", mediaType: "text/plain" } },
    handle: async (_call, { metrics }) => ({
      status: 200,
      text: { type: metrics.contentType, content: await metrics.render() },
    }),
  }),
];
