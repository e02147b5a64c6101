import { useEffect, useState } from "preact/hooks";

import type { CredentialsBody, SessionView, SignInMethods } from "../../../schemas/session.ts";
import { ask } from "../api.ts";
import { leaveFrom } from "../openid.ts";
import { Failure } from "../components/error-message.tsx";

interface SignInProps {
  /** Why one is here. */
  readonly notice: string | undefined;
  /** Why signing in by way of the OpenID provider came to nothing. */
  readonly failure: unknown;
  readonly entered: (session: SessionView) => void;
}

/** Asks for a name and a password, or leads to the OpenID provider where there is one. */
export function SignIn({ notice, failure, entered }: SignInProps) {
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState(failure);
  const openId = useOpenId();

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const credentials: CredentialsBody = {
      user: form.get("user") as string,
      password: form.get("password") as string,
    };
    setAsking(true);
    setError(undefined);
    ask<SessionView>("/api/topicsync/v1/session", credentials)
      .then(entered, setError)
      .finally(() => {
        setAsking(false);
      });
  }

  return (
    <main class="container sign-in">
      <h1>topicsync</h1>
      {notice !== undefined && <p role="status">{notice}</p>}
      {error !== undefined && <Failure error={error} />}
      <form onSubmit={submit}>
        <label>
          User
          <input name="user" autocomplete="username" required autofocus />
        </label>
        <label>
          Password
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <button type="submit" aria-busy={asking} disabled={asking}>
          Sign in
        </button>
      </form>
      {openId && (
        <p>
          <button
            type="button"
            class="outline"
            onClick={() => {
              leaveFrom(location.pathname);
              location.assign(openId.url);
            }}
          >
            Sign in with OpenID
          </button>
          <small>at {openId.provider}</small>
        </p>
      )}
      <p>
        <small>
          No user yet? <code>topicsync users add NAME</code> makes one; <code>BOOTSTRAP_USER</code> and{" "}
          <code>BOOTSTRAP_PASSWORD</code> make the first.
        </small>
      </p>
    </main>
  );
}

/** Returns where to sign in with OpenID, if anywhere. Errors are ignored: a password works as well. */
function useOpenId(): SignInMethods["openId"] {
  const [methods, setMethods] = useState<SignInMethods>({});
  useEffect(() => {
    ask<SignInMethods>("/api/topicsync/v1/session/sign-in-methods").then(setMethods, () => undefined);
  }, []);
  return methods.openId;
}
