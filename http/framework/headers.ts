import helmet from "helmet";

import type { ContentSecurityPolicy } from "../../src/operations/framework/operation.ts";

/** For every response that does not say otherwise. */
export const noStore = "no-store";

/**
 * The same headers as `apiSecurityHeaders`, for responses to malformed requests, which reach no middleware.
 */
export const rawResponseHeaders = {
  "Cache-Control": noStore,
  "Content-Security-Policy": "default-src 'none';frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
} as const;

/**
 * Creates the middleware for the security headers of an API, whose responses may not be shown, run or loaded.
 * Headers that only concern pages are left out.
 */
export const apiSecurityHeaders = ({ overTls }: { readonly overTls: boolean }) =>
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    // Browsers ignore it over plain HTTP (RFC 6797, section 8.1); a proxy that ends TLS adds its own.
    strictTransportSecurity: overTls,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xFrameOptions: { action: "deny" },
    xPermittedCrossDomainPolicies: false,
    xPoweredBy: false,
    xXssProtection: false,
  });

/** Creates the middleware for all of helmet's headers on a page; Strict-Transport-Security is already set. */
export const pageSecurityHeaders = (policy: ContentSecurityPolicy) =>
  helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: Object.fromEntries(Object.entries(policy).map(([name, sources]) => [name, [...sources]])),
    },
    strictTransportSecurity: false,
    xFrameOptions: { action: "deny" },
  });

/**
 * The policy of a page that loads nothing but this service's own files. Their styles contain small images.
 */
export const ownFilesOnly: ContentSecurityPolicy = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'", "data:"],
  connectSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
};
