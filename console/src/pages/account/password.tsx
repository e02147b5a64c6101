import { useState } from "preact/hooks";

import type { SessionView } from "../../../../schemas/session.ts";
import { api } from "../../api.ts";
import { ErrorMessage } from "../../components/error-message.tsx";
import { Form } from "../../components/form.tsx";
import { PasswordField } from "../../components/password-field.tsx";
import { TextField } from "../../components/text-field.tsx";
import { useAction } from "../../query.ts";
import { useSession } from "../../session.ts";

/** Changes the user's password. */
export function OwnPassword() {
  const { renew } = useSession();
  const [notice, setNotice] = useState("");
  const action = useAction();
  const [currentPassword, setCurrentPassword] = useState("");
  const [password, setPassword] = useState("");
  return (
    <section aria-labelledby="password">
      <h2 id="password">Password</h2>
      <p>A new password ends all of your other sessions.</p>
      <p role="status">{notice}</p>
      <Form
        class="narrow"
        onSubmit={() => {
          action.run(
            () => api.post<SessionView>("/api/topicsync/v1/session/password", { currentPassword, password }),
            (session) => {
              renew(session);
              setCurrentPassword("");
              setPassword("");
              setNotice("Your password was changed.");
            },
          );
        }}
      >
        <TextField
          label="Current password"
          type="password"
          autocomplete="current-password"
          required
          maxLength={1024}
          value={currentPassword}
          onChange={setCurrentPassword}
        />
        <PasswordField label="New password" value={password} onChange={setPassword} />
        {action.error !== undefined && <ErrorMessage error={action.error} />}
        <button type="submit" aria-busy={action.busy} disabled={action.busy}>
          Change the password
        </button>
      </Form>
    </section>
  );
}
