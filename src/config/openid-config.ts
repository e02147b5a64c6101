import type { Secret } from "@topicsync/lib/secret";

/** Which bearer tokens are accepted, and how users are read from them. */
export interface OidcConfig {
  /** Must equal the claim `iss`. */
  readonly issuer: string;
  readonly audience: string;
  /** Name or path of the claim with the roles: `realm_access.roles`. */
  readonly rolesClaim: string;
  readonly userClaim: string;
  /** Rights and roles for values of the roles claim, besides topicsync's own roles. */
  readonly roleMap: ReadonlyMap<string, readonly string[]>;
  /** What the header `typ` of bearer tokens must be; undefined: anything. */
  readonly tokenType?: string | undefined;
}

/** How people sign in on the console through the provider. */
export interface SignInConfig extends OidcConfig {
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: Secret | undefined;
  /** The scopes requested from the provider, separated by spaces. */
  readonly scope: string;
  /** The public origin of the service: `https://topicsync.example.org`. */
  readonly publicUrl: string;
}
