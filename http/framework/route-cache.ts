import { LRUCache } from "lru-cache";

import type { Handler } from "./context.ts";

interface MatchedRoute {
  readonly handlers: readonly Handler[];
  readonly parameters: Record<string, string>;
}

/** Longer URLs are matched by Express each time. */
const maxUrlLength = 256;
const maxRoutes = 1_000;

/**
 * Remembers which handlers Express found for a method and URL: most requests are registrations at the same
 * few paths. See docs/decisions/011-plain-express.md for what it is worth.
 */
export function createRouteCache() {
  const routes = new LRUCache<string, MatchedRoute>({ max: maxRoutes });
  return {
    /** Runs the handlers of a known route, or passes the request on to the router. */
    find: ((request, response, next) => {
      const route = routes.get(`${request.method} ${request.url}`);
      if (route === undefined) {
        next();
        return;
      }
      request.params = route.parameters;
      const handlers = route.handlers.values();
      const run = (error?: unknown): void => {
        if (error !== undefined) {
          next(error);
          return;
        }
        try {
          const pending: unknown = handlers.next().value?.(request, response, run);
          if (pending instanceof Promise) pending.catch(next);
        } catch (thrown) {
          next(thrown);
        }
      };
      run();
    }) satisfies Handler,
    /** Remembers the route that Express matched. */
    record:
      (handlers: readonly Handler[]): Handler =>
      (request, _response, next) => {
        const { method, url, params } = request;
        if (url.length <= maxUrlLength) routes.set(`${method} ${url}`, { handlers, parameters: params });
        next();
      },
  };
}
