import { signInMethodsSchema, type SignInMethods } from "../../schemas/session.ts";
import type { OpenIdSignIn } from "../../src/users/openid-sign-in.ts";
import { SignInError } from "../../src/users/openid.ts";
import { HttpError } from "../../src/operations/framework/errors.ts";
import { operation, type Operation, type Reply } from "../../src/operations/framework/operation.ts";
import { foreignQuery } from "../../src/operations/framework/query.ts";
import { getBasePath } from "../framework/context.ts";
import { createSignInCookie, formatSessionCookie } from "../framework/cookies.ts";

const path = "/api/topicsync/v1/session/openid";

/** Builds the redirect URI that is registered with the provider. */
export const buildRedirectUri = (publicUrl: string): string => `${publicUrl}${path}/callback`;

/** Sign-in with OpenID, if configured. */
export interface OpenIdOptions {
  readonly signIn: OpenIdSignIn;
  /** Where browsers reach the service. */
  readonly publicUrl: string;
}

/** Signs in on the console through an OpenID provider. */
export function openIdOperations(entry: OpenIdOptions | undefined): readonly Operation[] {
  const basePath = getBasePath(entry?.publicUrl);
  const consolePath = `${basePath}/console`;
  const redirectOnFailure = createRedirectOnFailure(consolePath);
  const cookie = createSignInCookie({ secure: entry?.publicUrl.startsWith("https:") ?? true, basePath });
  const { openId }: SignInMethods = entry === undefined ? {} : { openId: toSignInMethod(entry) };
  return [
    operation({
      id: "getSignInMethods",
      method: "GET",
      paths: ["/api/topicsync/v1/session/sign-in-methods"],
      access: "anybody",
      tag: "console",
      summary: "Get the sign-in methods",
      description: "Methods besides user name and password.",
      replies: { 200: { description: "The sign-in methods.", schema: signInMethodsSchema } },
      handle: () => ({ status: 200, json: { openId } }),
    }),
    operation({
      id: "startOpenIdSignIn",
      method: "GET",
      paths: [path],
      access: "anybody",
      tag: "console",
      summary: "Sign in with OpenID",
      description:
        "Redirects the browser to the OpenID provider (authorization code flow with PKCE), or back to the console with an error.",
      replies: { 302: { description: "Redirect to the provider, or to the console." } },
      rejections: ["NOT_FOUND"],
      handle: () =>
        redirectOnFailure(async () => {
          const { id, location } = await requireEntry(entry).signIn.begin();
          return redirect(location, [cookie.format(id)]);
        }),
    }),
    operation({
      id: "completeOpenIdSignIn",
      method: "GET",
      paths: [`${path}/callback`],
      access: "anybody",
      tag: "console",
      summary: "OpenID callback",
      description:
        "Starts a console session for the user named by the provider and redirects the browser to the console. If sign-in fails, no session is started and the console shows why.",
      query: foreignQuery,
      replies: { 302: { description: "Redirect to the console." } },
      rejections: ["NOT_FOUND", "UNAVAILABLE"],
      handle: ({ query, cookies, address, secure }, { sessions }) =>
        redirectOnFailure(async () => {
          const { signIn } = requireEntry(entry);
          const user = await signIn.finish({
            id: cookie.read(cookies),
            response: toSearchParams(query),
            address,
          });
          const session = await sessions.beginFederated(user, signIn.issuer);
          return {
            ...redirect(consolePath, [formatSessionCookie(session, { secure, basePath }), cookie.clear]),
            audit: { action: "session.began", user: user.name },
            by: user,
          };
        }, cookie.clear),
    }),
  ];
}

const toSignInMethod = ({ signIn, publicUrl }: OpenIdOptions): NonNullable<SignInMethods["openId"]> => ({
  provider: new URL(signIn.issuer).host,
  url: `${publicUrl}${path}`,
});

function requireEntry(entry: OpenIdOptions | undefined): OpenIdOptions {
  if (entry !== undefined) return entry;
  throw new HttpError("NOT_FOUND", "Sign-in with OpenID is not configured.", {
    detail: "Set OIDC_CLIENT_ID.",
  });
}

/** Creates the function that redirects to the console when sign-in fails; the console explains the reason. */
const createRedirectOnFailure =
  (consolePath: string) =>
  async (work: () => Promise<Reply>, ...cookies: readonly string[]): Promise<Reply> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      const { reason } = error;
      const isFailedLogin = reason === "rejected" || reason === "nameless" || reason === "throttled";
      return {
        ...redirect(`${consolePath}?sign-in=${reason}`, cookies),
        ...(isFailedLogin ? { failedLogin: "" } : {}),
      };
    }
  };

const redirect = (location: string, cookies: readonly string[]): Reply => ({
  status: 302,
  headers: { Location: location, "Set-Cookie": cookies },
});

/** Keeps repeated parameters, which are rejected later. */
function toSearchParams(query: Readonly<Record<string, unknown>>): URLSearchParams {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value]) params.append(name, String(one));
  return params;
}
