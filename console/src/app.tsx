import { useEffect, useState } from "preact/hooks";
import { Redirect, Route, Router, Switch } from "wouter-preact";

import type { SessionView } from "../../schemas/session.ts";
import { ApiError, ask, setCsrfToken } from "./api.ts";
import { Layout } from "./components/layout.tsx";
import { comeBack, takeFailure } from "./openid.ts";
import { pagesFor } from "./pages.ts";
import { SignIn } from "./pages/sign-in.tsx";
import { Failure } from "./components/error-message.tsx";
import { SessionContext } from "./session.ts";

const sessionPath = "/api/topicsync/v1/session";

/** What is known of who sits before it. */
type State =
  | { readonly kind: "asking" }
  | { readonly kind: "out"; readonly notice?: string; readonly failure?: ApiError | undefined }
  | { readonly kind: "in"; readonly session: SessionView }
  | { readonly kind: "failed"; readonly error: unknown };

/** The console: whoever is not signed in signs in, at whatever address they came to. */
export function App() {
  const [state, setState] = useState<State>({ kind: "asking" });

  function enter(session: SessionView): void {
    setCsrfToken(session.csrfToken);
    setState({ kind: "in", session });
  }

  function look(): void {
    setState({ kind: "asking" });
    const failure = takeFailure();
    comeBack();
    ask<SessionView>(sessionPath).then(enter, (error: unknown) => {
      const isOut = error instanceof ApiError && error.status === 401;
      setState(isOut ? { kind: "out", failure } : { kind: "failed", error });
    });
  }
  useEffect(look, []);

  function leave(how?: "over"): void {
    if (how === "over") setState({ kind: "out", notice: "Your session is over. Sign in again." });
    else {
      ask(`${sessionPath}/end`, {}).then(
        () => {
          setState({ kind: "out", notice: "You have signed out." });
        },
        (error: unknown) => {
          setState({ kind: "failed", error });
        },
      );
    }
  }

  switch (state.kind) {
    case "asking":
      return <main class="container" aria-busy="true" />;
    case "failed":
      return (
        <main class="container">
          <Failure error={state.error} again={look} />
        </main>
      );
    case "out":
      return <SignIn notice={state.notice} failure={state.failure} entered={enter} />;
    case "in":
      return (
        <SessionContext.Provider value={{ session: state.session, leave }}>
          <Router base="/console">
            <Layout>
              <Switch>
                {pagesFor(state.session.roles).map(({ path, component }) => (
                  <Route key={path} path={`${path}/*?`} component={component} />
                ))}
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
