import assert from "node:assert/strict";
import { it } from "node:test";

import { createLogger } from "@topicsync/lib/logger";
import { createOpenIdSignIn } from "../../../src/users/openid-sign-in.ts";
import type { OpenIdProvider } from "../../../src/users/openid-provider.ts";
import { SignInError } from "../../../src/users/openid.ts";
import { createLoginThrottle } from "../../../src/users/login-throttle.ts";
import { until } from "../../support/poll.ts";

it("exchanges at most 16 codes with the provider concurrently", async () => {
  const states: string[] = [];
  const held: (() => void)[] = [];
  const provider: OpenIdProvider = {
    buildSignInUrl: ({ state }) => Promise.resolve(`https://id.example.org/?${states.push(state)}`),
    fetchClaims: () =>
      new Promise((resolve) => {
        held.push(() => {
          resolve({ sub: "ann" });
        });
      }),
  };
  const signIn = createOpenIdSignIn({
    config: {
      issuer: "https://id.example.org",
      audience: "topicsync",
      rolesClaim: "roles",
      userClaim: "sub",
      roleMap: new Map(),
      tokenType: undefined,
      clientId: "console",
      clientSecret: undefined,
      scope: "openid",
      publicUrl: "https://topicsync.example.org",
    },
    provider,
    throttle: createLoginThrottle({ onLimit: () => undefined }),
    log: await createLogger("silent"),
  });
  const returnFromProvider = async () => {
    const { id } = await signIn.begin();
    const response = new URLSearchParams({ state: states.at(-1) ?? "" });
    return { finished: signIn.finish({ id, response, address: "192.0.2.1" }) };
  };
  const all = [];
  for (let at = 0; at < 16; at += 1) all.push((await returnFromProvider()).finished);
  await until("all requests to the provider are open", () => held.length === 16);
  await assert.rejects(
    (await returnFromProvider()).finished,
    (error) => error instanceof SignInError && error.reason === "unavailable",
  );
  for (const release of held) release();
  assert.deepEqual(new Set((await Promise.all(all)).map(({ name }) => name)), new Set(["oidc:ann"]));
});
