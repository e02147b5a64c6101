/** Whose bearer tokens are taken. */
export interface OidcConfig {
  /** As it stands in the claim `iss`. */
  readonly issuer: string;
  readonly audience: string;
  /** The claim with the roles, or the path to it: `realm_access.roles`. */
  readonly rolesClaim: string;
  readonly userClaim: string;
}

/** How people sign in on the console by way of the provider. */
export interface SignInConfig extends OidcConfig {
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  /** What the provider is asked for, with spaces between. */
  readonly scope: string;
  /** Where browsers find the service, without a path: `https://topicsync.example.org`. */
  readonly publicUrl: string;
}

/** Whether nobody on the way can change what comes from there: HTTPS, or HTTP on this very machine. */
export function isTrustworthy(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:") return true;
  return (
    protocol === "http:" && (/^127(\.\d+){3}$/.test(hostname) || ["localhost", "[::1]"].includes(hostname))
  );
}
