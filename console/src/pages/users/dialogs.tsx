import { useState } from "preact/hooks";

import type { UserView } from "../../../../schemas/user.ts";
import { ask } from "../../api.ts";
import { useDoing } from "../../asked.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { PasswordField } from "./password-field.tsx";
import { RoleBoxes } from "./roles.tsx";

export const usersPath = "/api/topicsync/v1/users";
const pathOf = ({ name }: UserView, what: string): string =>
  `${usersPath}/${encodeURIComponent(name)}/${what}`;

interface DialogProps {
  /** Told what was done. */
  readonly done: (said: string) => void;
  readonly cancelled: () => void;
}

interface UserDialogProps extends DialogProps {
  readonly user: UserView;
  /** Whether it is the reader. */
  readonly own: boolean;
}

/** Asks for a new user. */
export function AddUser({ done, cancelled }: DialogProps) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [roles, setRoles] = useState<readonly string[]>([]);
  const doing = useDoing();
  return (
    <Confirm
      question="Add a user"
      action="Add"
      doing={doing}
      cancelled={cancelled}
      confirmed={() => {
        doing.start(
          () => ask<UserView>(usersPath, { name, password, roles }),
          () => {
            done(`Added ${name}.`);
          },
        );
      }}
    >
      <label>
        Name
        <input
          autocomplete="off"
          spellcheck={false}
          required
          maxLength={256}
          pattern="[^:]+"
          title="A name without a colon"
          value={name}
          onInput={(event) => {
            setName(event.currentTarget.value);
          }}
        />
      </label>
      <PasswordField value={password} change={setPassword} />
      <RoleBoxes chosen={roles} change={setRoles} />
    </Confirm>
  );
}

/** Asks which roles a user is to have. */
export function ChangeRoles({ user, own, done, cancelled }: UserDialogProps) {
  const [chosen, setChosen] = useState<readonly string[]>(user.roles);
  const doing = useDoing();
  return (
    <Confirm
      question={`Roles of ${user.name}`}
      action="Save"
      doing={doing}
      cancelled={cancelled}
      confirmed={() => {
        const add = chosen.filter((one) => !user.roles.includes(one));
        const remove = user.roles.filter((one) => !chosen.includes(one));
        if (add.length + remove.length === 0) {
          cancelled();
          return;
        }
        doing.start(
          () => ask<UserView>(pathOf(user, "roles"), { add, remove }),
          () => {
            done(`${user.name} has other roles now.`);
          },
        );
      }}
    >
      <RoleBoxes chosen={chosen} change={setChosen} own={own} />
    </Confirm>
  );
}

/** Asks for a user's new password. */
export function SetPassword({ user, own, done, cancelled }: UserDialogProps) {
  const [password, setPassword] = useState("");
  const doing = useDoing();
  return (
    <Confirm
      question={`New password of ${user.name}`}
      action="Set"
      doing={doing}
      cancelled={cancelled}
      confirmed={() => {
        doing.start(
          () => ask<UserView>(pathOf(user, "password"), { password }),
          () => {
            done(`${user.name} has a new password.`);
          },
        );
      }}
    >
      <p>{own ? "It ends your session: sign in again with it." : "It ends the sessions of this user."}</p>
      <PasswordField value={password} change={setPassword} />
    </Confirm>
  );
}

/** Asks whether a user is to be disabled, or let in again. */
export function SwitchUser({ user, done, cancelled }: UserDialogProps) {
  const doing = useDoing();
  const { name, active } = user;
  return (
    <Confirm
      question={`${active ? "Disable" : "Enable"} ${name}?`}
      action={active ? "Disable" : "Enable"}
      doing={doing}
      cancelled={cancelled}
      confirmed={() => {
        doing.start(
          () => ask<UserView>(pathOf(user, active ? "disable" : "enable"), {}),
          () => {
            done(`${name} is ${active ? "disabled" : "enabled"}.`);
          },
        );
      }}
    >
      <p>
        {active
          ? "The user is signed out at once, and refused within 30 seconds everywhere. Nothing is deleted."
          : "The user is let in again, with the same password and roles."}
      </p>
    </Confirm>
  );
}
