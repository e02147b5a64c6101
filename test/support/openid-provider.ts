import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after } from "node:test";

import { exportJWK, generateKeyPair } from "jose";
import Provider, { type Configuration } from "oidc-provider";

/** A user of the provider. */
export interface Person {
  readonly name: string;
  readonly roles: readonly string[];
}

/** A client of the provider: the console. */
export interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
}

/** The servers that the tests of this file started. */
const servers: Server[] = [];
after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

/**
 * Starts a certified OpenID provider on this machine whose page asks only for a name. It is stopped after the
 * tests of the file.
 *
 * @returns Its issuer, at `localhost`: for a browser that is another site than `127.0.0.1`.
 */
export async function startOpenIdProvider(client: Client, people: readonly Person[]): Promise<string> {
  const server = createServer().listen(0, "localhost");
  await once(server, "listening");
  servers.push(server);
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, await createConfiguration(client, people));
  const answer = provider.callback();
  server.on("request", (request, response) => {
    void (request.url?.startsWith("/interaction/") === true
      ? interact(provider, request, response)
      : answer(request, response));
  });
  return issuer;
}

async function createConfiguration(client: Client, people: readonly Person[]): Promise<Configuration> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return {
    clients: [
      { client_id: client.clientId, client_secret: client.clientSecret, redirect_uris: [client.redirectUri] },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), use: "sig", alg: "RS256" }] },
    cookies: { keys: ["a key for the tests"] },
    ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
    claims: { openid: ["sub"], profile: ["roles"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, sub) => {
      const person = people.find(({ name }) => name === sub);
      return person && { accountId: sub, claims: () => ({ sub, roles: person.roles }) };
    },
    // Users are not asked for consent.
    async loadExistingGrant({ oidc }) {
      const { client: asking, session } = oidc;
      const grant = new oidc.provider.Grant({ clientId: asking?.clientId, accountId: session?.accountId });
      grant.addOIDCScope("openid profile");
      await grant.save();
      return grant;
    },
  };
}

/** Asks for a name; the form continues the sign-in or cancels it. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === "GET") {
    response.setHeader("Content-Type", "text/html");
    response.end(page);
    return;
  }
  const given = new URLSearchParams(await text(request));
  const result = given.has("declined")
    ? { error: "access_denied" }
    : { login: { accountId: given.get("name") ?? "" } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

const page = `<!doctype html><title>A provider</title><form method="post">
<label>Name <input name="name"></label><button>Go on</button><button name="declined">No</button></form>`;
