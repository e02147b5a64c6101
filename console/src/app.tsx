import { useEffect, useState } from "preact/hooks";
import { Redirect, Route, Router, Switch } from "wouter-preact";

import type { SessionView } from "../../schemas/session.ts";
import { api, setCsrfToken, type ApiError } from "./api.ts";
import { consolePath } from "./base.ts";
import { ErrorMessage } from "./components/error-message.tsx";
import { Layout } from "./components/layout.tsx";
import { returnToPage, takeSignInError } from "./openid.ts";
import { accountPath, getPagesFor } from "./pages.ts";
import { Account } from "./pages/account.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { isSessionExpired } from "./query.ts";
import { SessionContext } from "./session.ts";

const sessionPath = "/api/topicsync/v1/session";

type State =
  | { readonly kind: "loading" }
  | { readonly kind: "signed-out"; readonly notice?: string; readonly error?: ApiError | undefined }
  | { readonly kind: "signed-in"; readonly session: SessionView }
  | { readonly kind: "failed"; readonly error: unknown };

/** Shows the sign-in page at any address until somebody has signed in. */
export function App() {
  const [state, setState] = useState<State>({ kind: "loading" });

  function enter(session: SessionView): void {
    setCsrfToken(session.csrfToken);
    setState({ kind: "signed-in", session });
  }

  function loadSession(): void {
    setState({ kind: "loading" });
    const signInError = takeSignInError();
    returnToPage();
    api.get<SessionView>(sessionPath).then(enter, (error: unknown) => {
      const isSignedOut = isSessionExpired(error);
      setState(isSignedOut ? { kind: "signed-out", error: signInError } : { kind: "failed", error });
    });
  }
  useEffect(loadSession, []);

  function signOut(): void {
    api.post(`${sessionPath}/end`, {}).then(
      () => {
        setState({ kind: "signed-out", notice: "You have signed out." });
      },
      (error: unknown) => {
        setState({ kind: "failed", error });
      },
    );
  }

  function expire(notice = "Your session has expired. Please sign in again."): void {
    setState({ kind: "signed-out", notice });
  }

  switch (state.kind) {
    case "loading":
      return <main class="container" aria-busy="true" />;
    case "failed":
      return (
        <main class="container">
          <ErrorMessage error={state.error} retry={loadSession} />
        </main>
      );
    case "signed-out":
      return <SignIn notice={state.notice} error={state.error} onSignIn={enter} />;
    case "signed-in":
      return (
        <SessionContext.Provider value={{ session: state.session, signOut, renew: enter, expire }}>
          <Router base={consolePath}>
            <Layout>
              <Switch>
                {getPagesFor(state.session.rights).map(({ path, component }) => (
                  <Route key={path} path={`${path}/*?`} component={component} />
                ))}
                <Route path={accountPath} component={Account} />
                <Route>
                  <Redirect to="/overview" replace />
                </Route>
              </Switch>
            </Layout>
          </Router>
        </SessionContext.Provider>
      );
  }
}
