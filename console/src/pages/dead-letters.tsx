import { Route, Switch } from "wouter-preact";

import { DeadLetterPage } from "./dead-letters/dead-letter-page.tsx";
import { DeadLetterListPage } from "./dead-letters/list-page.tsx";

/** The list of dead letters, or one of them. */
export const DeadLetters = () => (
  <Switch>
    <Route path="/dead-letters/:id">{({ id }) => <DeadLetterPage id={id} />}</Route>
    <Route>
      <DeadLetterListPage />
    </Route>
  </Switch>
);
