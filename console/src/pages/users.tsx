import { useState } from "preact/hooks";

import type { UserList, UserView } from "../../../schemas/user.ts";
import { useQuery } from "../query.ts";
import { useListDialog } from "../list-dialog.ts";
import { Page } from "../components/page.tsx";
import { ErrorMessage } from "../components/error-message.tsx";
import { Form } from "../components/form.tsx";
import { Pager, toPagePath, usePaging } from "../components/pager.tsx";
import { useSession } from "../session.ts";
import {
  ActivationDialog,
  AddUserDialog,
  PasswordDialog,
  RolesDialog,
  SessionsDialog,
  usersPath,
} from "./users/dialogs.tsx";
import { UserTable, type UserAction } from "./users/table.tsx";

const dialogs = {
  roles: RolesDialog,
  password: PasswordDialog,
  sessions: SessionsDialog,
  activation: ActivationDialog,
} as const;

export function Users() {
  const { session } = useSession();
  const [typed, setTyped] = useState("");
  const [prefix, setPrefix] = useState("");
  const paging = usePaging(prefix);
  const { value, error, refetch } = useQuery<UserList>(toPagePath(usersPath, paging, { prefix }));
  const { open, show, notice, handlers } = useListDialog<
    "add" | { readonly action: UserAction; readonly user: UserView }
  >(refetch);

  const UserDialog = open === undefined || open === "add" ? undefined : dialogs[open.action];

  return (
    <Page name="Users">
      <Form
        class="beside"
        onSubmit={() => {
          setPrefix(typed);
        }}
      >
        <label>
          Name starts with
          <input
            type="search"
            spellcheck={false}
            maxLength={256}
            value={typed}
            onInput={(event) => {
              setTyped(event.currentTarget.value);
            }}
          />
        </label>
        <button type="submit" class="secondary">
          Search
        </button>
        <button
          type="button"
          onClick={() => {
            show("add");
          }}
        >
          Add a user
        </button>
      </Form>
      <p role="status">{notice}</p>
      {error !== undefined && <ErrorMessage error={error} retry={refetch} />}
      {value?.users.length === 0 && (
        <p>{prefix === "" ? "No users yet. Add the first one." : "No users match."}</p>
      )}
      {value !== undefined && value.users.length > 0 && (
        <UserTable
          users={value.users}
          currentUser={session.user}
          onAction={(action, user) => {
            show({ action, user });
          }}
        />
      )}
      {value !== undefined && <Pager paging={paging} next={value.next} />}
      {open === "add" && <AddUserDialog {...handlers} />}
      {UserDialog !== undefined && typeof open === "object" && (
        <UserDialog {...handlers} user={open.user} isSelf={open.user.name === session.user} />
      )}
    </Page>
  );
}
