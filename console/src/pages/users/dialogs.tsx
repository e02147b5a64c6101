import { useState } from "preact/hooks";

import type { UserView } from "../../../../schemas/user.ts";
import { ask } from "../../api.ts";
import { ConfirmedWork } from "../../components/confirm-dialog.tsx";
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
  return (
    <ConfirmedWork
      question="Add a user"
      action="Add"
      work={() => ask<UserView>(usersPath, { name, password, roles })}
      done={() => {
        done(`Added ${name}.`);
      }}
      cancelled={cancelled}
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
    </ConfirmedWork>
  );
}

/** Asks which roles a user is to have. */
export function ChangeRoles({ user, own, done, cancelled }: UserDialogProps) {
  const [chosen, setChosen] = useState<readonly string[]>(user.roles);
  const add = chosen.filter((one) => !user.roles.includes(one));
  const remove = user.roles.filter((one) => !chosen.includes(one));
  return (
    <ConfirmedWork
      question={`Roles of ${user.name}`}
      action="Save"
      possible={add.length + remove.length > 0}
      work={() => ask<UserView>(pathOf(user, "roles"), { add, remove })}
      done={() => {
        done(`${user.name} has other roles now.`);
      }}
      cancelled={cancelled}
    >
      <RoleBoxes chosen={chosen} change={setChosen} own={own} />
    </ConfirmedWork>
  );
}

/** Asks for a user's new password. */
export function SetPassword({ user, own, done, cancelled }: UserDialogProps) {
  const [password, setPassword] = useState("");
  return (
    <ConfirmedWork
      question={`New password of ${user.name}`}
      action="Set"
      work={() => ask<UserView>(pathOf(user, "password"), { password })}
      done={() => {
        done(`${user.name} has a new password.`);
      }}
      cancelled={cancelled}
    >
      <p>{own ? "It ends your session: sign in again with it." : "It ends the sessions of this user."}</p>
      <PasswordField value={password} change={setPassword} />
    </ConfirmedWork>
  );
}

/** Asks whether a user is to be disabled, or let in again. */
export function SwitchUser({ user, done, cancelled }: UserDialogProps) {
  const { name, active } = user;
  return (
    <ConfirmedWork
      question={`${active ? "Disable" : "Enable"} ${name}?`}
      action={active ? "Disable" : "Enable"}
      work={() => ask<UserView>(pathOf(user, active ? "disable" : "enable"), {})}
      done={() => {
        done(`${name} is ${active ? "disabled" : "enabled"}.`);
      }}
      cancelled={cancelled}
    >
      <p>
        {active
          ? "The user is signed out at once, and refused within 30 seconds everywhere. Nothing is deleted."
          : "The user is let in again, with the same password and roles."}
      </p>
    </ConfirmedWork>
  );
}
