import helmet from "helmet";

/** Names and values of headers. */
export type Headers = Readonly<Record<string, string>>;

/** The same, with a list where there are several of one name. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

/** Content security policy: directives in helmet's spelling, such as `scriptSrc: ["'self'"]`. */
export type Policy = Readonly<Record<string, readonly string[]>>;

/** Nothing in an answer of the API may be shown, run or loaded. */
const apiPolicy: Policy = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] };

/**
 * Helmet's headers that mean something for an answer which is data: the others are about pages. They are the same for
 * each answer, so helmet is asked for them once: run per request it takes three times as long as setting these.
 */
export function apiHeaders({ overTls }: { readonly overTls: boolean }): Headers {
  const all = helmetHeaders(apiPolicy);
  const names = [
    "Content-Security-Policy",
    "Cross-Origin-Resource-Policy",
    "Referrer-Policy",
    "X-Content-Type-Options",
    "X-Frame-Options",
    // A browser ignores it over plain HTTP (RFC 6797, section 8.1); whoever ends TLS before us says it.
    ...(overTls ? ["Strict-Transport-Security"] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, all[name] ?? ""]));
}

/** All of helmet's headers for a page with a policy of its own, but for HSTS, which every answer has where it applies. */
export function pageHeaders(policy: Policy): Headers {
  const headers = helmetHeaders(policy);
  delete headers["Strict-Transport-Security"];
  return headers;
}

function helmetHeaders(policy: Policy): Record<string, string> {
  const headers: Record<string, string> = {};
  const directives = Object.fromEntries(
    Object.entries(policy).map(([name, sources]) => [name, [...sources]]),
  );
  const setHeaders = helmet({
    contentSecurityPolicy: { useDefaults: false, directives },
    xFrameOptions: { action: "deny" },
  });
  const response = {
    setHeader: (name: string, value: string) => void (headers[name] = value),
    removeHeader: () => undefined,
  };
  setHeaders({} as never, response as never, (error) => {
    if (error !== undefined) throw error instanceof Error ? error : new Error("helmet refused the policy");
  });
  return headers;
}
