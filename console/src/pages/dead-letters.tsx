import { Route, Switch } from "wouter-preact";

import { LetterPage } from "./dead-letters/letter-page.tsx";
import { LetterListPage } from "./dead-letters/list-page.tsx";

/** What was refused: all of it, or one letter. */
export const DeadLetters = () => (
  <Switch>
    <Route path="/dead-letters/:id">{({ id }) => <LetterPage id={id} />}</Route>
    <Route>
      <LetterListPage />
    </Route>
  </Switch>
);
