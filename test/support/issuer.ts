import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after } from "node:test";

import { exportJWK, exportSPKI, generateKeyPair, SignJWT, type JWTPayload } from "jose";

/** An OpenID provider on this machine. */
export interface Issuer {
  readonly url: string;
  /** The public key, PEM. */
  readonly publicKey: string;
  /** The number of requests for its keys. */
  readonly getKeyRequests: () => number;
  /** Signs a valid token for `topicsync`; claims (undefined omits one) and header override its own. */
  token(
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
  ): Promise<string>;
  /** Overrides claims and header of the ID tokens that it returns for codes from now on. */
  setCodeToken(claims: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): void;
  /** The client that gets tokens by client credentials from now on. */
  setMachine(machine: Machine): void;
  /** The number of tokens that it got. */
  readonly countMachineTokens: () => number;
  /** The last request for a token. */
  readonly getLastExchange: () => { readonly authorization: string; readonly body: URLSearchParams };
  /** How it responds from now on: correctly, with 500, or with invalid JSON. */
  setBehaviour(as: "well" | "failing" | "garbled"): void;
  /** The number of requests since the last `setBehaviour`. */
  readonly countRequests: () => number;
}

/** A program that gets tokens for itself. */
interface Machine {
  readonly id: string;
  readonly secret: string;
  readonly audience: string;
  readonly lifetimeSeconds: number;
}

export const audience = "topicsync";

/** The client that gets tokens. */
export const goodCode = "a-good-code";

/**
 * The number of requests that one caller may have sent since a moment of `performance.now()` if it waits in
 * between. Tests compare with it, since a busy machine takes longer than such a pause.
 */
export const countMaxRequests = (since: number, intervalMs: number): number =>
  1 + Math.floor((performance.now() - since) / intervalMs);

/** Failures to reach a provider are kept for a second, on a clock that may differ a little. */
export const failureIntervalMs = 900;

/**
 * Starts a provider until the tests of the file end; `userInfo` are the claims of its UserInfo endpoint, if
 * any.
 */
export async function startIssuer(userInfo?: Readonly<Record<string, unknown>>): Promise<Issuer> {
  const kid = "key-1";
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: "RS256", use: "sig" };
  let keyRequests = 0;
  let requests = 0;
  let codeGives = (): Promise<string> => Promise.resolve("");
  let lastExchange: ReturnType<Issuer["getLastExchange"]> = {
    authorization: "",
    body: new URLSearchParams(),
  };
  let machine: Machine | undefined;
  let machineTokens = 0;
  let behaviour = "well" as Parameters<Issuer["setBehaviour"]>[0];

  const server = createServer((request, response) => {
    requests += 1;
    response.setHeader("Content-Type", "application/json");
    if (behaviour === "failing") response.writeHead(500).end("{}");
    else if (behaviour === "garbled") response.end("<html>");
    else if (request.url === "/realm/.well-known/openid-configuration")
      response.end(
        JSON.stringify({
          ...createConfiguration(url),
          ...(userInfo && { userinfo_endpoint: `${url}/userinfo` }),
        }),
      );
    else if (request.url === "/realm/userinfo") response.end(JSON.stringify(userInfo));
    else if (request.url === "/realm/keys") {
      keyRequests += 1;
      response.end(JSON.stringify({ keys: [jwk] }));
    } else if (request.url === "/realm/token") void exchange(request, response);
    else response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  async function exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization = "" } = request.headers;
    lastExchange = { authorization, body: new URLSearchParams(await text(request)) };
    if (lastExchange.body.get("grant_type") === "client_credentials") await grant(authorization, response);
    else if (lastExchange.body.get("code") === goodCode) {
      const tokens = { access_token: "access", token_type: "Bearer", id_token: await codeGives() };
      response.end(JSON.stringify(tokens));
    } else response.writeHead(400).end('{"error":"invalid_grant"}');
  }

  async function grant(authorization: string, response: ServerResponse): Promise<void> {
    const [id, secret] = Buffer.from(authorization.replace("Basic ", ""), "base64")
      .toString()
      .split(":")
      .map((part) => decodeURIComponent(part.replaceAll("+", " ")));
    if (machine === undefined || id !== machine.id || secret !== machine.secret) {
      // Some providers repeat what they were sent.
      const error = { error: "invalid_client", error_description: `the secret ${secret ?? ""} is wrong` };
      response.writeHead(401).end(JSON.stringify(error));
      return;
    }
    machineTokens += 1;
    const { id: sub, audience: aud, lifetimeSeconds: expires_in } = machine;
    const access_token = await issuer.token({ sub, aud, exp: Math.floor(Date.now() / 1_000) + expires_in });
    response.end(JSON.stringify({ access_token, token_type: "Bearer", expires_in }));
  }

  await once(server, "listening");
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realm`;

  const issuer: Issuer = {
    url,
    publicKey: await exportSPKI(publicKey),
    getKeyRequests: () => keyRequests,
    token(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const good = { iss: url, aud: audience, sub: "ann", iat: now, exp: now + 300 };
      const all: Readonly<Record<string, unknown>> = { ...good, ...claims };
      const payload: JWTPayload = Object.fromEntries(
        Object.entries(all).filter(([, value]) => value !== undefined),
      );
      return new SignJWT(payload).setProtectedHeader({ alg: "RS256", kid, ...header }).sign(privateKey);
    },
    setCodeToken: (claims, header) => void (codeGives = () => issuer.token(claims, header)),
    setMachine: (next) => void (machine = next),
    countMachineTokens: () => machineTokens,
    getLastExchange: () => lastExchange,
    setBehaviour(as) {
      behaviour = as;
      requests = 0;
    },
    countRequests: () => requests,
  };
  return issuer;
}

const createConfiguration = (url: string) => ({
  issuer: url,
  jwks_uri: `${url}/keys`,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/token`,
  response_types_supported: ["code"],
  id_token_signing_alg_values_supported: ["RS256"],
  authorization_response_iss_parameter_supported: true,
});
