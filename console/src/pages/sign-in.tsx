import { useEffect, useState } from "preact/hooks";

import type { CredentialsBody, SessionView, SignInMethods } from "../../../schemas/session.ts";
import { api } from "../api.ts";
import { rememberPage } from "../openid.ts";
import { ErrorMessage } from "../components/error-message.tsx";

interface SignInProps {
  readonly notice: string | undefined;
  /** Why the OpenID sign-in failed. */
  readonly error: unknown;
  readonly onSignIn: (session: SessionView) => void;
}

export function SignIn({ notice, error: initialError, onSignIn }: SignInProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(initialError);
  const openId = useOpenId();

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const credentials: CredentialsBody = {
      user: form.get("user") as string,
      password: form.get("password") as string,
    };
    setBusy(true);
    setError(undefined);
    api
      .post<SessionView>("/api/topicsync/v1/session", credentials)
      .then(onSignIn, setError)
      .finally(() => {
        setBusy(false);
      });
  }

  return (
    <main class="container sign-in">
      <h1>topicsync</h1>
      {notice !== undefined && <p role="status">{notice}</p>}
      {error !== undefined && <ErrorMessage error={error} />}
      <form onSubmit={submit}>
        <label>
          User
          <input name="user" autocomplete="username" required autofocus />
        </label>
        <label>
          Password
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <button type="submit" aria-busy={busy} disabled={busy}>
          Sign in
        </button>
      </form>
      {openId && (
        <p>
          <button
            type="button"
            class="outline"
            onClick={() => {
              rememberPage(location.pathname);
              location.assign(openId.url);
            }}
          >
            Sign in with OpenID
          </button>
          <small>with {openId.provider}</small>
        </p>
      )}
      <p>
        <small>
          No user yet? Create one with <code>topicsync users add NAME</code>, or the first one with{" "}
          <code>BOOTSTRAP_USER</code> and <code>BOOTSTRAP_PASSWORD</code>.
        </small>
      </p>
    </main>
  );
}

/** Returns the OpenID sign-in, if configured. Errors are ignored: signing in with a password still works. */
function useOpenId(): SignInMethods["openId"] {
  const [methods, setMethods] = useState<SignInMethods>({});
  useEffect(() => {
    api.get<SignInMethods>("/api/topicsync/v1/session/sign-in-methods").then(setMethods, () => undefined);
  }, []);
  return methods.openId;
}
