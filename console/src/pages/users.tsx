import { useState } from "preact/hooks";

import type { UserList, UserView } from "../../../schemas/user.ts";
import { useQuery } from "../query.ts";
import { useListDialog } from "../list-dialog.ts";
import { Page } from "../components/page.tsx";
import { Failure } from "../components/error-message.tsx";
import { Pager, usePageState } from "../components/pager.tsx";
import { useSession } from "../session.ts";
import { AddUser, ChangeRoles, SetPassword, SwitchUser, usersPath } from "./users/dialogs.tsx";
import { UserTable, type UserAct } from "./users/table.tsx";

const dialogs = { roles: ChangeRoles, password: SetPassword, switch: SwitchUser } as const;

/** The users: who may use the service, and for what. */
export function Users() {
  const { session } = useSession();
  const [typed, setTyped] = useState("");
  const [prefix, setPrefix] = useState("");
  const place = usePageState(prefix);
  const { value, error, again } = useQuery<UserList>(pathFor(prefix, place.after));
  const { open, show, said, ends } = useListDialog<
    "add" | { readonly act: UserAct; readonly user: UserView }
  >(again);

  const Dialog = open === undefined || open === "add" ? undefined : dialogs[open.act];

  return (
    <Page name="Users">
      <form
        class="beside"
        onSubmit={(event) => {
          event.preventDefault();
          setPrefix(typed);
        }}
      >
        <label>
          Name begins with
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
      </form>
      <p role="status">{said}</p>
      {error !== undefined && <Failure error={error} again={again} />}
      {value?.users.length === 0 && <p>There is no such user. Search for another, or add one.</p>}
      {value !== undefined && value.users.length > 0 && (
        <UserTable
          users={value.users}
          reader={session.user}
          act={(act, user) => {
            show({ act, user });
          }}
        />
      )}
      {value !== undefined && <Pager place={place} next={value.next} />}
      {open === "add" && <AddUser {...ends} />}
      {Dialog !== undefined && typeof open === "object" && (
        <Dialog {...ends} user={open.user} own={open.user.name === session.user} />
      )}
    </Page>
  );
}

function pathFor(prefix: string, after: string | undefined): string {
  const query = new URLSearchParams({ limit: "50" });
  if (prefix !== "") query.set("prefix", prefix);
  if (after !== undefined) query.set("after", after);
  return `${usersPath}?${query.toString()}`;
}
