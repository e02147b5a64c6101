import helmet from "helmet";

import type { Handler } from "./context.ts";

/**
 * The headers of every response, also to malformed requests, which reach no middleware. What an API returns may
 * not be shown, run or loaded; headers that only concern pages are left out.
 */
export const responseHeaders = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none';frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
} as const;

/** Creates the middleware that sets the headers of every response that does not say otherwise. */
export function setResponseHeaders({ overTls }: { readonly overTls: boolean }): Handler {
  const headers = new Map<string, string>(Object.entries(responseHeaders));
  // Browsers ignore it over plain HTTP (RFC 6797, section 8.1); a proxy that ends TLS adds its own.
  if (overTls) headers.set("Strict-Transport-Security", "max-age=31536000; includeSubDomains");
  return (_request, response, next) => {
    response.setHeaders(headers);
    next();
  };
}

/**
 * The middleware for all of helmet's headers on a page that loads nothing but this service's own files. Their
 * styles contain small images. Strict-Transport-Security is already set.
 */
export const setPageHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", "data:"],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  strictTransportSecurity: false,
  xFrameOptions: { action: "deny" },
});
