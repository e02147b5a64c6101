/** Whose bearer tokens are taken. */
export interface OidcConfig {
  /** As it stands in the claim `iss`. */
  readonly issuer: string;
  readonly audience: string;
  /** The claim with the roles, or the path to it: `realm_access.roles`. */
  readonly rolesClaim: string;
  readonly userClaim: string;
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
