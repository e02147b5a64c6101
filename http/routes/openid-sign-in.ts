import { signInOptionsSchema, type SignInOptions } from "../../schemas/session.ts";
import type { OpenIdSignIn } from "../../src/sessions/openid-sign-in.ts";
import type { Sessions } from "../../src/sessions/session.ts";
import { SignInError } from "../../src/users/openid.ts";
import { HttpError } from "../framework/errors.ts";
import { operation, type Operation, type Reply } from "../framework/operation.ts";
import { formatSessionCookie } from "../framework/session-cookie.ts";
import { createSignInCookie } from "../framework/sign-in-cookie.ts";

const path = "/api/topicsync/v1/session/openid";

/** Where the provider sends browsers back to, as it has to know it. */
export const redirectUriAt = (publicUrl: string): string => `${publicUrl}${path}/callback`;

/** How people sign in with OpenID, where that is set up. */
export interface OpenIdEntry {
  readonly signIn: OpenIdSignIn;
  /** Where browsers find the service. */
  readonly publicUrl: string;
}

/** Signing in on the console by way of an OpenID provider. */
export function openIdOperations(entry: OpenIdEntry | undefined, sessions: Sessions): readonly Operation[] {
  const cookie = createSignInCookie(entry?.publicUrl.startsWith("https:") ?? true);
  const { openId }: SignInOptions = entry === undefined ? {} : { openId: wayOf(entry) };
  return [
    operation({
      id: "getSignInOptions",
      method: "GET",
      paths: ["/api/topicsync/v1/session/ways"],
      access: "anybody",
      tag: "console",
      summary: "Get the sign-in options",
      description: "Options besides user name and password.",
      replies: { 200: { description: "The sign-in options.", schema: signInOptionsSchema } },
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
      refusals: ["NOT_FOUND"],
      handle: () =>
        orBack(async () => {
          const { id, location } = await required(entry).signIn.begin();
          return redirection(location, [cookie.set(id)]);
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
      replies: { 302: { description: "Redirect to the console." } },
      refusals: ["NOT_FOUND", "UNAVAILABLE"],
      handle: ({ query, cookies, address, secure }) =>
        orBack(async () => {
          const { signIn } = required(entry);
          const user = await signIn.finish({ id: cookie.read(cookies), answer: answerIn(query), address });
          const session = await sessions.beginAs(user, signIn.issuer);
          return {
            ...redirection("/console", [formatSessionCookie(session, secure), cookie.forget]),
            audit: { action: "session.began", user: user.name },
            by: user,
          };
        }, cookie.forget),
    }),
  ];
}

const wayOf = ({ signIn, publicUrl }: OpenIdEntry): NonNullable<SignInOptions["openId"]> => ({
  provider: new URL(signIn.issuer).host,
  url: `${publicUrl}${path}`,
});

function required(entry: OpenIdEntry | undefined): OpenIdEntry {
  if (entry !== undefined) return entry;
  throw new HttpError("NOT_FOUND", "Signing in with OpenID is not set up.", {
    detail: "See OIDC_CLIENT_ID.",
  });
}

/** Does it; when it fails the browser goes to the console, which has the words for the reason. */
async function orBack(work: () => Promise<Reply>, ...cookies: readonly string[]): Promise<Reply> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SignInError) return redirection(`/console?sign-in=${error.reason}`, cookies);
    throw error;
  }
}

const redirection = (location: string, cookies: readonly string[]): Reply => ({
  status: 302,
  headers: { Location: location, "Cache-Control": "no-store", "Set-Cookie": cookies },
});

/** As it was sent: what is there twice stays there twice, and is refused as such. */
function answerIn(query: Readonly<Record<string, unknown>>): URLSearchParams {
  const answer = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value]) answer.append(name, String(one));
  return answer;
}
