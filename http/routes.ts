import { Router, type ErrorRequestHandler, type RequestHandler } from "express";

import { methodNotAllowed } from "./errors.ts";

/** Versions of every operation; both behave alike today, and without a version the latest is meant (specification 9). */
const versions = ["v1", "v2"] as const;

/** The paths of an operation: without a version, and with each. */
export const versioned = (prefix: string, rest: string): string[] => [
  `${prefix}${rest}`,
  ...versions.map((version) => `${prefix}/${version}${rest}`),
];

/** A router with one POST operation on several paths; any other method there is answered with 405. */
export function postOperation(
  paths: string[],
  ...handlers: (RequestHandler | ErrorRequestHandler)[]
): Router {
  const router = Router({ caseSensitive: true });
  router.post(paths, ...(handlers as RequestHandler[]));
  router.all(paths, methodNotAllowed("POST"));
  return router;
}
