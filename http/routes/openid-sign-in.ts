import { signInOptionsSchema, type SignInOptions } from "../../schemas/session.ts";
import type { OpenIdSignIn } from "../../src/sessions/openid-sign-in.ts";
import type { Sessions } from "../../src/sessions/session.ts";
import { SignInError } from "../../src/users/sign-in-error.ts";
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
      id: "getSignInWays",
      method: "GET",
      paths: ["/api/topicsync/v1/session/ways"],
      access: "anybody",
      tag: "console",
      summary: "Tell how one can sign in",
      description: "What there is besides a user and a password.",
      replies: { 200: { description: "The ways.", schema: signInOptionsSchema } },
      handle: () => ({ status: 200, json: { openId } }),
    }),
    operation({
      id: "beginOpenIdSignIn",
      method: "GET",
      paths: [path],
      access: "anybody",
      tag: "console",
      summary: "Sign in with OpenID",
      description:
        "For browsers: sends them to the OpenID provider (authorization code flow with PKCE), or back to the console, which says why not.",
      replies: { 302: { description: "Where to go." } },
      refusals: ["NOT_FOUND"],
      handle: () =>
        orBack(async () => {
          const { id, location } = await required(entry).signIn.begin();
          return redirection(location, [cookie.set(id)]);
        }),
    }),
    operation({
      id: "finishOpenIdSignIn",
      method: "GET",
      paths: [`${path}/callback`],
      access: "anybody",
      tag: "console",
      summary: "Come back from the OpenID provider",
      description:
        "Begins a session of the console for whom the provider names, and sends the browser to the console; without a session when that fails, and the console says why.",
      replies: { 302: { description: "Where to go: the console." } },
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
