import { useState } from "preact/hooks";

import type { Credentials, SessionView } from "../../../schemas/session.ts";
import { ask } from "../api.ts";
import { Failure } from "../parts/failure.tsx";

interface SignInProps {
  /** Why one is here. */
  readonly notice: string | undefined;
  readonly entered: (session: SessionView) => void;
}

/** Asks for a name and a password. */
export function SignIn({ notice, entered }: SignInProps) {
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState<unknown>();

  function submit(event: SubmitEvent): void {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const credentials: Credentials = {
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
      <p>
        <small>
          No user yet? <code>topicsync users add NAME</code> makes one; <code>BOOTSTRAP_USER</code> and{" "}
          <code>BOOTSTRAP_PASSWORD</code> make the first.
        </small>
      </p>
    </main>
  );
}
